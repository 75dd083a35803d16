#include "models/traces/recorded_model.hpp"

#include "models/traces/recorded_gradients.hpp"
#include "models/traces/recorded_step.hpp"
#include "models/traces/seen_collective.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <regex>

#include <fmt/format.h>

namespace foretrain::models {

using sim::Precision;

namespace {

// Systematic difference between runs of one job on one kind of machine, as for anchors.
constexpr double kSpreadOfTimes = 0.03;
constexpr double kToldByNames = 0.3; // share of the products' time from which their names count

std::string text_of(double seconds)
{
  return fmt::format("{:.6g} us", seconds * 1e6);
}

Json json_of(const MeasuredStretch& stretch)
{
  Json json = {{"product", text_of(stretch.product.value())},
               {"memory", text_of(stretch.memory.value())},
               {"idle", text_of(stretch.idle.value())},
               {"kernels", stretch.kernels}};
  if (stretch.host_bound)
    json["host_bound"] = true;
  if (!stretch.gradients.empty())
    json["gradients"] = stretch.gradients;
  return json;
}

Json json_of(const std::vector<MeasuredStretch>& stretches)
{
  Json list = Json::array();
  for (const MeasuredStretch& stretch : stretches)
    list.push_back(json_of(stretch));
  return list;
}

// The first dimension of what the first convolution or embedding of the step takes.
int recorded_batch(const Trace& trace, const TraceStep& step)
{
  for (const Stretch& stretch : trace.stretches) {
    if (stretch.start < step.host_start || stretch.start > step.host_finish)
      continue;
    const std::string& name = trace.name_of(stretch.name);
    if ((name == "aten::conv2d" || name == "aten::convolution" || name == "aten::embedding") &&
        stretch.leading >= 1 && stretch.leading <= 1e6)
      return static_cast<int>(stretch.leading);
  }
  return 0;
}

void tell(const Steps& steps, const RecordedStep& recorded, std::vector<std::string>& notes)
{
  const TraceStep& step = steps.list[steps.typical];
  if (steps.found_by.empty())
    notes.push_back("no steps were found: the whole recording counts as one; record with "
                    "torch.profiler's schedule and prof.step()");
  else
    notes.push_back(fmt::format(
        "{} steps by {}; {} is taken: {:.3f} ms, of which {:.3f} ms kernels, "
        "{:.3f} ms exposed exchanges, {:.3f} ms waiting for input",
        steps.list.size(), steps.found_by, step.name, step.period() * 1e3, recorded.busy * 1e3,
        recorded.exposed * 1e3, (recorded.input + recorded.copy) * 1e3));
  if (!step.followed)
    notes.push_back("no step is followed by another: its length is that of the host's annotation");
}

// "cijk_ailk_bljk_hhs_bh_mt128x128x16": the letter of the operands' type, "h" (Tensile,
// ProblemType: DataType.toChar() follows the indices of both operands); "" for other kernels.
std::string type_of_tensile(const std::string& name)
{
  static const std::regex kName("cijk_[a-z]+_[a-z]+_([a-z])");
  std::smatch found;
  return std::regex_search(name, found, kName) ? found[1].str() : "";
}

// What the name of a product says of its operands, nothing for 8 bits. cuBLAS's nvjet kernels
// tell them by a letter (h: fp16, t: bf16), tensor cores of single precision are TF32.
std::optional<Precision> precision_in(const std::string& kernel)
{
  const std::string name = lower_case(kernel);
  const auto has = [&name](std::initializer_list<const char*> parts) {
    return std::any_of(parts.begin(), parts.end(),
                       [&name](const char* part) { return name.find(part) != std::string::npos; });
  };
  if (has({"e4m3", "e5m2", "fp8", "float8", "nvjet_q"}))
    return {};
  if (const auto type = type_of_tensile(name); !type.empty())
    return type == "h"   ? std::optional(Precision::fp16)
           : type == "b" ? std::optional(Precision::bf16)
           : type == "s" ? std::optional(Precision::fp32)
                         : std::nullopt;
  if (has({"bf16", "bfloat16", "nvjet_t"}))
    return Precision::bf16;
  if (has({"tf32"}))
    return Precision::tf32;
  if (has({"fp16", "f16f16", "half", "h884", "h1688", "h16816", "hgemm", "hcudnn", "nvjet_h"}))
    return Precision::fp16;
  if (has({"16816", "884"}))
    return Precision::fp16; // shapes of tensor cores' half-precision instructions
  if (has({"tensorop_s1688", "s1688"}))
    return Precision::tf32;
  if (has({"sgemm", "scudnn", "ffma", "<float", "f32f32", "fp32", "winograd"}))
    return Precision::fp32;
  return {};
}

double middle_of(std::vector<double> values)
{
  std::sort(values.begin(), values.end());
  return values[(values.size() - 1) / 2];
}

// Coefficient of variation of what the device itself took for a step: waiting for input varies
// more, and is told apart. By the median distance from the median, so that a step in which
// something else happened does not count for all. 0 with fewer than three steps; the first one
// holds what the profiler began with.
double own_variation(const Trace& trace, const Steps& steps)
{
  std::vector<double> times;
  for (std::size_t i = 1; i < steps.list.size(); ++i) {
    const TraceStep& step = steps.list[i];
    if (!step.followed)
      continue;
    const RecordedStep parts = take_apart(trace, step, [](const DeviceWork&) { return true; });
    times.push_back(step.period() - parts.input - parts.copy);
  }
  if (times.size() < 3)
    return 0;
  constexpr double kDeviationsOfMiddle = 1.4826; // of a normal distribution
  const double middle = middle_of(times);
  for (double& time : times)
    time = std::abs(time - middle);
  return middle > 0 ? kDeviationsOfMiddle * middle_of(times) / middle : 0;
}

// Of gradients alone: what becomes of the collectives.
void tell_collectives(const Trace& trace, const TraceStep& step, std::vector<std::string>& notes)
{
  std::map<std::string, std::pair<int, double>> kinds;
  for (const StepWork& item : step.work) {
    const DeviceWork& work = trace.work[item.index];
    if (work.kind != KernelClass::collective)
      continue;
    auto& [count, time] = kinds[seen_collective(trace, work).kind];
    ++count;
    time += work.seconds();
  }
  for (const auto& [kind, sum] : kinds)
    notes.push_back(fmt::format("{} {} of {:.3f} ms in all {}", sum.first, kind, sum.second * 1e3,
                                kind == "all-reduce"
                                    ? "are not taken over: the exchange of gradients is simulated"
                                    : "are not simulated: what the device waited for them stays as "
                                      "idle time, on any number of GPUs"));
}

} // namespace

std::optional<Precision> precision_of(const Trace& trace, const TraceStep& step)
{
  std::map<Precision, double> times;
  double all = 0;
  for (const StepWork& item : step.work) {
    const DeviceWork& work = trace.work[item.index];
    if (work.kind != KernelClass::product)
      continue;
    all += work.seconds();
    if (const auto told = precision_in(trace.name_of(work.name)))
      times[*told] += work.seconds();
  }
  if (times.empty())
    return {};
  const auto most = std::max_element(
      times.begin(), times.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most->second >= kToldByNames * all ? std::optional(most->first) : std::nullopt;
}

RecordedModel recorded_model(const Trace& trace, const Steps& steps, const RecordedOptions& options)
{
  const TraceStep& step = steps.list[steps.typical];
  RecordedStep recorded = take_apart(trace, step, [&](const DeviceWork& work) {
    return options.gradients_only
               ? seen_collective(trace, work).kind == "all-reduce"
               : is_simulated(trace, work, options.ranks_follow ? Sends::taken : Sends::left_out);
  });
  RecordedModel model;
  model.notes = trace.notes;
  tell(steps, recorded, model.notes);
  if (recorded.backward.empty()) { // inference, or a recording without host events
    recorded.backward.emplace_back();
    recorded.gradients.emplace_back();
    model.notes.emplace_back("no backward pass was found: all kernels count as forward");
  }
  const std::string told = size_gradients(trace, step, recorded, options.like);
  double parameters = 0;
  int tensors = 0;
  for (const MeasuredStretch& stretch : recorded.backward)
    for (const int elements : stretch.gradients) {
      parameters += elements;
      ++tensors;
    }
  model.notes.push_back(
      told.empty() ? "the recording tells no sizes of gradients: give --like MODEL, or record with "
                     "record_shapes=True; without, and without exchanges, it is usable on one "
                     "device"
                   : fmt::format("{} gradients, {:.4g} million parameters, by {}", tensors,
                                 parameters / 1e6, told));

  const auto device = static_cast<std::size_t>(busiest_device(trace));
  Json measured = {
      {"device", device < trace.device_names.size() ? trace.device_names[device] : ""}};
  if (!options.gpu.empty())
    measured["gpu"] = options.gpu;
  if (const auto precision = precision_of(trace, step))
    measured["precision"] = word_of(*precision);
  const int batch = options.batch.value_or(recorded_batch(trace, step));
  if (batch > 0)
    measured["batch"] = batch;
  else
    model.notes.emplace_back("the recording tells no batch size: a job's \"batch_per_gpu\" must be "
                             "the one that was recorded, or give --batch N");
  measured["scale"] = 1.0;
  double length = step.period();
  if (!step.followed && step.host_finish < 1e299)
    length = std::max(length, step.host_finish - step.host_start);
  measured["step"] = text_of(length);
  // Of several ranks it would hold their waiting for one another, too.
  if (const double variation = own_variation(trace, steps); variation > 0 && trace.world < 2)
    measured["variation"] = std::min(1.0, std::round(variation * 1e4) / 1e4);
  measured["ranks"] = std::max(1, trace.world);
  measured["host"] = text_of(recorded.host);
  measured["input"] = text_of(recorded.input);
  measured["copy"] = text_of(recorded.copy);
  measured["optimizer"] = json_of(recorded.optimizer);
  measured["forward"] = json_of(recorded.forward);
  measured["backward"] = json_of(recorded.backward);
  if (options.gradients_only)
    tell_collectives(trace, step, model.notes);
  else if (!options.ranks_follow)
    add_exchanges({recorded_rank(trace, steps)}, measured, model.notes);
  model.json = {{"format", "foretrain.network/1"},
                {"name", options.name},
                {"source", fmt::format("{} {}", trace.format,
                                       trace.file.substr(trace.file.find_last_of('/') + 1))}};
  if (options.like)
    model.json["dataset"] = options.like->dataset;
  model.json["spread"] = {{"/measured/scale", kSpreadOfTimes}};
  model.json["measured"] = std::move(measured);
  return model;
}

RecordedModel with_ranks(RecordedModel first, const std::vector<RecordedRank>& ranks)
{
  add_exchanges(ranks, first.json["measured"], first.notes);
  return first;
}

} // namespace foretrain::models
