#include "models/traces/kineto_event.hpp"

#include "sim/base/text.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

namespace foretrain::models {

namespace {

// The last number in a text ("stream 7"), or a number of its own for any other text.
double number_in(const std::string& text)
{
  const std::size_t digits = text.find_last_not_of("0123456789") + 1;
  if (digits < text.size() && text.size() - digits < 15)
    return std::atof(text.c_str() + digits);
  return static_cast<double>(std::hash<std::string>{}(text) % 1000000007u);
}

// Of a text that is a number; else none.
double number_of(const std::string& text)
{
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  return !text.empty() && *end == '\0' ? number : std::nan("");
}

bool is_any_of(const std::string& word, std::initializer_list<const char*> words)
{
  return std::find(words.begin(), words.end(), word) != words.end();
}

// 0: not told.
int bytes_of(const std::string& type)
{
  static const std::pair<const char*, int> kTypes[] = {
      {"c10::half", 2}, {"half", 2},          {"bfloat16", 2},     {"c10::bfloat16", 2},
      {"float", 4},     {"double", 8},        {"long int", 8},     {"long", 8},
      {"int", 4},       {"short", 2},         {"char", 1},         {"bool", 1},
      {"byte", 1},      {"unsigned char", 1}, {"signed char", 1},  {"int64", 8},
      {"int32", 4},     {"int16", 2},         {"uint8", 1},        {"int8", 1},
      {"uint16", 2},    {"uint32", 4},        {"uint64", 8},       {"float16", 2},
      {"float32", 4},   {"float64", 8},       {"bf16", 2},         {"fp16", 2},
      {"fp32", 4},      {"complexhalf", 4},   {"complexfloat", 8}, {"complexdouble", 16},
      {"float8", 1}};
  const std::string lower = lower_case(type);
  for (const auto& [name, bytes] : kTypes)
    if (lower == name)
      return bytes;
  return lower.starts_with("float8") ? 1 : 0;
}

// Elements that one thread of PyTorch's element-wise kernels handles (thread_work_size).
double work_per_thread(const std::string& name)
{
  return name.find("elementwise_kernel") != std::string::npos ? 4 : 0;
}

// Launches of different grids or blocks differ in it (FNV-1a over the six numbers).
std::uint64_t shape_of(const RawEvent& event)
{
  std::uint64_t hash = 1469598103934665603u;
  for (const auto& sizes : {event.grid, event.block})
    for (const double size : sizes)
      hash = (hash ^ static_cast<std::uint64_t>(std::clamp(size, 0.0, 1e15))) * 1099511628211u;
  return hash;
}

// "ncclDevKernel_AllReduce_Sum_f32_RING_LL(...)"; 0 where the name tells none.
int bytes_by_name(const std::string& kernel)
{
  static const std::pair<const char*, int> kParts[] = {
      {"_f32_", 4}, {"_f16_", 2}, {"_bf16_", 2}, {"_f64_", 8}, {"_f8e4m3_", 1}, {"_f8e5m2_", 1},
      {"_i8_", 1},  {"_u8_", 1},  {"_i32_", 4},  {"_u32_", 4}, {"_i64_", 8},    {"_u64_", 8}};
  const std::string lower = lower_case(kernel);
  for (const auto& [part, bytes] : kParts)
    if (lower.find(part) != std::string::npos)
      return bytes;
  return 0;
}

// 0 where the type of the elements is not told.
double message_bytes(const RawEvent& event)
{
  const int told = bytes_of(event.data_type);
  return std::max(event.in_elements, event.out_elements) *
         (told > 0 ? told : bytes_by_name(event.name));
}

// The other rank of a send or a receive; -1 where it is not told.
int peer_of(const RawEvent& event)
{
  const double peer = event.collective == "send"   ? event.destination
                      : event.collective == "recv" ? event.source
                                                   : -1;
  return peer >= 0 && peer < 1e6 ? static_cast<int>(peer) : -1;
}

// Operators and annotations that tell steps, phases, gradients, messages and batches.
bool tells(const RawEvent& event)
{
  if (event.category == "user_annotation")
    return true;
  for (const char* part :
       {"ProfilerStep", "autograd::engine::evaluate_function", "torch::autograd::AccumulateGrad",
        "Optimizer.", "nccl:", "copy_bucket_to_grad", "DataLoader", "Backward"})
    if (event.name.find(part) != std::string::npos)
      return true;
  return is_any_of(event.name, {"aten::conv2d", "aten::convolution", "aten::linear",
                                "aten::embedding", "record_param_comms"});
}

} // namespace

EventKey event_key(const std::string& key)
{
  return key == "ph"     ? EventKey::phase
         : key == "cat"  ? EventKey::category
         : key == "name" ? EventKey::name
         : key == "pid"  ? EventKey::process
         : key == "tid"  ? EventKey::thread
         : key == "ts"   ? EventKey::time
         : key == "dur"  ? EventKey::duration
         : key == "args" ? EventKey::args
                         : EventKey::other;
}

ArgumentKey argument_key(const std::string& key)
{
  static const std::unordered_map<std::string, ArgumentKey> kKeys = {
      {"correlation", ArgumentKey::correlation},
      {"device", ArgumentKey::device},
      {"stream", ArgumentKey::stream},
      {"bytes", ArgumentKey::bytes},
      {"grid", ArgumentKey::grid},
      {"block", ArgumentKey::block},
      {"Input Dims", ArgumentKey::dims},
      {"Input dims", ArgumentKey::dims},
      {"Input type", ArgumentKey::type},
      {"In msg nelems", ArgumentKey::in_elements},
      {"Out msg nelems", ArgumentKey::out_elements},
      {"Group size", ArgumentKey::group},
      {"dtype", ArgumentKey::data_type},
      {"Collective name", ArgumentKey::collective},
      {"Process Group Ranks", ArgumentKey::members},
      {"Src Rank", ArgumentKey::source},
      {"Dst Rank", ArgumentKey::destination}};
  const auto found = kKeys.find(key);
  return found == kKeys.end() ? ArgumentKey::other : found->second;
}

void RawEvent::text(EventKey key, const std::string& value)
{
  switch (key) {
  case EventKey::phase:
    phase = value;
    break;
  case EventKey::category:
    category = value;
    break;
  case EventKey::name:
    name = value;
    break;
  case EventKey::process:
    process = number_in(value);
    break;
  case EventKey::thread:
    thread = number_in(value);
    break;
  case EventKey::time:
    time = number_of(value);
    break;
  case EventKey::duration:
    duration = number_of(value);
    break;
  case EventKey::args:
  case EventKey::other:
    break;
  }
}

void RawEvent::number(EventKey key, double value)
{
  if (key == EventKey::time)
    time = value;
  else if (key == EventKey::duration)
    duration = value;
  else if (key == EventKey::process)
    process = value;
  else if (key == EventKey::thread)
    thread = value;
}

void RawEvent::argument(ArgumentKey key, const std::string& value, int depth)
{
  if (key == ArgumentKey::type && depth == 1 && type.empty())
    type = value;
  else if (key == ArgumentKey::data_type && depth == 0)
    data_type = value;
  else if (key == ArgumentKey::collective && depth == 0)
    collective = value;
  else if (key == ArgumentKey::members && depth == 0)
    members = value;
  else if (key == ArgumentKey::stream && depth == 0)
    stream = number_in(value);
  else if ((key == ArgumentKey::source || key == ArgumentKey::destination) && !value.empty() &&
           value.find_first_not_of("0123456789") == std::string::npos)
    (key == ArgumentKey::source ? source : destination) = number_in(value);
}

void RawEvent::argument(ArgumentKey key, double value, int depth)
{
  switch (key) {
  case ArgumentKey::correlation:
    correlation = value;
    break;
  case ArgumentKey::device:
    device = value;
    break;
  case ArgumentKey::stream:
    stream = value;
    break;
  case ArgumentKey::bytes:
    bytes = value;
    break;
  case ArgumentKey::in_elements:
    in_elements = value;
    break;
  case ArgumentKey::out_elements:
    out_elements = value;
    break;
  case ArgumentKey::group:
    group = value;
    break;
  case ArgumentKey::source:
    source = value;
    break;
  case ArgumentKey::destination:
    destination = value;
    break;
  case ArgumentKey::grid:
  case ArgumentKey::block:
    if (axis < 3 && depth == 1)
      (key == ArgumentKey::grid ? grid : block)[static_cast<std::size_t>(axis++)] = value;
    break;
  case ArgumentKey::members: // a list where it is no text
    if (depth == 1 && members.size() < 4096)
      members += fmt::format(" {:.0f}", std::clamp(value, 0.0, 1e6));
    break;
  case ArgumentKey::dims:
    if (!dims_done && depth >= 2) {
      if (dims == 0) {
        dims = 1;
        leading = value;
      }
      dims *= value;
    }
    break;
  default:
    break;
  }
}

void RawEvent::open_list(ArgumentKey, int depth)
{
  if (depth == 1)
    axis = 0;
}

void RawEvent::close_list(ArgumentKey key, int depth)
{
  if (key == ArgumentKey::dims && depth >= 2)
    dims_done = true;
}

EventSink::EventSink(Trace& trace) : trace_(trace)
{
  for (std::size_t i = 0; i < trace.names.size(); ++i)
    known_.try_emplace(trace.names[i], static_cast<std::uint32_t>(i));
}

std::uint32_t EventSink::intern(const std::string& name)
{
  const auto [at, fresh] =
      known_.try_emplace(name, static_cast<std::uint32_t>(trace_.names.size()));
  if (fresh)
    trace_.names.push_back(name);
  return at->second;
}

void EventSink::take_work(const RawEvent& event, double start, double finish)
{
  DeviceWork work;
  work.name = intern(event.name);
  work.kind = class_of(event.name);
  work.device = whole(event.device >= 0 ? event.device : std::max(0.0, event.process));
  work.stream = whole(event.stream >= 0 ? event.stream : std::max(0.0, event.thread));
  work.start = start;
  work.finish = finish;
  work.correlation = long_whole(event.correlation);
  work.group = whole(event.group);
  work.bytes = event.bytes;
  if (event.in_elements > 0 || event.out_elements > 0)
    work.bytes = message_bytes(event);
  work.threads = 1;
  for (const auto& sizes : {event.grid, event.block})
    for (const double size : sizes)
      work.threads *= size;
  work.elements = work_per_thread(event.name) * work.threads;
  work.shape = shape_of(event);
  if (work.kind == KernelClass::collective) {
    work.collective = intern(event.collective);
    work.members = intern(event.members);
    work.peer = peer_of(event);
  }
  trace_.work.push_back(work);
}

void EventSink::take_message(const RawEvent& event, double start)
{
  trace_.messages.push_back({long_whole(event.thread), start, event.collective == "send",
                             peer_of(event), message_bytes(event), -1});
}

void EventSink::take(const RawEvent& event)
{
  if (event.phase != "X" || event.name.empty())
    return;
  if (!std::isfinite(event.time) || !std::isfinite(event.duration) || event.duration < 0) {
    ++wrong_times_;
    return;
  }
  if (std::isnan(origin_))
    origin_ = event.time;
  // In us until all are known: seconds from the first one, in whatever order the file has them.
  const double start = event.time - origin_;
  const double finish = start + event.duration;
  const auto thread = long_whole(event.thread);
  if (is_any_of(event.category,
                {"kernel", "Kernel", "gpu_memcpy", "Memcpy", "gpu_memset", "Memset"})) {
    take_work(event, start, finish);
  } else if (is_any_of(event.category,
                       {"cuda_runtime", "cuda_driver", "Runtime", "Driver", "hip_runtime"})) {
    if (event.correlation >= 0)
      trace_.calls.push_back(
          {long_whole(event.correlation), thread, start, finish, intern(event.name)});
  } else if (is_any_of(event.category, {"cpu_op", "Operator", "user_annotation"}) && tells(event)) {
    trace_.stretches.push_back({intern(event.name), thread, start, finish, event.dims,
                                bytes_of(event.type), event.leading});
    if (event.name == "record_param_comms" && is_any_of(event.collective, {"send", "recv"}))
      take_message(event, start);
  }
}

void EventSink::device(int id, const std::string& name)
{
  if (id < 0 || id > 4096)
    return;
  if (trace_.device_names.size() <= static_cast<std::size_t>(id))
    trace_.device_names.resize(static_cast<std::size_t>(id) + 1);
  trace_.device_names[static_cast<std::size_t>(id)] = name;
}

void EventSink::distributed(const std::string& key, double value)
{
  if (key == "rank")
    trace_.rank = whole(value);
  else if (key == "world_size")
    trace_.world = whole(value);
}

void EventSink::finish()
{
  double first = std::numeric_limits<double>::infinity();
  const auto each_time = [this](const auto& change) {
    for (DeviceWork& it : trace_.work)
      change(it.start), change(it.finish);
    for (Call& it : trace_.calls)
      change(it.start), change(it.finish);
    for (Stretch& it : trace_.stretches)
      change(it.start), change(it.finish);
    for (Message& it : trace_.messages)
      change(it.start);
  };
  each_time([&](double time) { first = std::min(first, time); });
  each_time([&](double& time) { time = (time - first) * 1e-6; });
  if (wrong_times_ > 0)
    trace_.notes.push_back(
        fmt::format("{} events have no usable time and are left out", wrong_times_));
}

} // namespace foretrain::models
