#include "models/traces/recorded_exchanges.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include <fmt/format.h>

namespace foretrain::models {

namespace {

constexpr double kAtOnceAfter = 5e-6;  // a collective behind another one of its stream
constexpr double kSlowBegin = 50e-6;   // NCCL's smallest messages: 10 to 60 us within a node
constexpr double kSlowestLink = 1e8;   // B/s; no network of GPUs in use is slower than 1 GbE
constexpr double kResolution = 0.5e-6; // s, of old traces
constexpr double kSameSize = 0.1;      // sizes of lists of indices vary from step to step

// A reduction to one rank moves what a broadcast does, the other way round. "" of what is not.
std::string simulated_as(const std::string& kind)
{
  for (const char* other : {"send", "gather", "scatter", "other"})
    if (kind == other)
      return "";
  return kind == "reduce" ? "broadcast" : kind;
}

// Equal steps between the ranks of a group, as far as they are told; 0 where they differ.
int stride_of(const std::vector<int>& ranks)
{
  if (ranks.size() < 2)
    return 1;
  const int stride = ranks[1] - ranks[0];
  for (std::size_t i = 2; i < ranks.size(); ++i)
    if (ranks[i] - ranks[i - 1] != stride)
      return 0;
  return std::max(stride, 0);
}

struct Launch {
  double at = 0;
  std::int64_t thread = -1;
};

Launch launch_of(const Trace& trace, const DeviceWork& work)
{
  const Call* call = call_of(trace, work);
  return call == nullptr ? Launch{work.start, -1} : Launch{call->start, call->thread};
}

// Kernels of a step as they were launched.
struct Launched {
  Launch launch;
  int stream;
  double finish;
};

std::vector<Launched> kernels_of(const Trace& trace, const TraceStep& step)
{
  std::vector<Launched> kernels;
  for (const StepWork& item : step.work)
    if (const DeviceWork& work = trace.work[item.index]; work.kind != KernelClass::collective)
      kernels.push_back({launch_of(trace, work), work.stream, work.finish});
  return kernels;
}

// The end of what the stream held that the launching thread had used last: NCCL's stream waits for
// that much.
double end_of_dependencies(const std::vector<Launched>& kernels, const Launch& launch)
{
  const Launched* last = nullptr;
  for (const Launched& kernel : kernels)
    if (kernel.launch.thread == launch.thread && kernel.launch.at < launch.at &&
        (last == nullptr || kernel.launch.at > last->launch.at))
      last = &kernel;
  double end = launch.at;
  if (last == nullptr)
    return end;
  for (const Launched& kernel : kernels)
    if (kernel.stream == last->stream && kernel.launch.at < launch.at)
      end = std::max(end, kernel.finish);
  return end;
}

// By stream and start: a collective begins when it is released and the one before has ended.
void release(const Trace& trace, const TraceStep& step, std::vector<RecordedExchange>& list,
             const std::vector<Launch>& launches)
{
  const std::vector<Launched> kernels = kernels_of(trace, step);
  std::map<int, const RecordedExchange*> before;
  for (std::size_t i = 0; i < list.size(); ++i) {
    RecordedExchange& exchange = list[i];
    const RecordedExchange* previous = std::exchange(before[exchange.stream], &exchange);
    const bool queued = previous != nullptr && exchange.start - previous->finish < kAtOnceAfter;
    exchange.released = queued ? std::min(exchange.start, end_of_dependencies(kernels, launches[i]))
                               : exchange.start;
    if (previous != nullptr)
      exchange.released = std::max(exchange.released, previous->released);
  }
  std::stable_sort(list.begin(), list.end(),
                   [](const auto& a, const auto& b) { return a.released < b.released; });
}

// The sends and receives of a kernel; empty where one of them does not tell its size or rank.
std::vector<RecordedExchange> sends_of(const Trace& trace, const DeviceWork& work,
                                       const RecordedExchange& kernel)
{
  std::vector<RecordedExchange> list;
  for (const SeenMessage& message : seen_messages(trace, work)) {
    if (message.peer < 0 || message.peer == trace.rank || trace.rank < 0 || message.bytes <= 0)
      return {};
    RecordedExchange& one = list.emplace_back(kernel);
    one.kind = "send";
    one.bytes = message.bytes;
    one.group = 0;
    one.stride = 1;
    one.members.clear();
    one.from = message.sends ? trace.rank : message.peer;
    one.to = message.sends ? message.peer : trace.rank;
  }
  return list;
}

double bus_bytes(const RecordedExchange& exchange)
{
  return SeenCollective{exchange.kind, exchange.bytes, std::max(2, exchange.group)}.bus_rate(1);
}

// A kernel's exchanges, several where it carries sends; or why it is not simulated.
struct Simulated {
  std::vector<RecordedExchange> list;
  std::string kind; // as it was seen
  std::string why_not;
};

Simulated simulated(const Trace& trace, const DeviceWork& work, Sends sends)
{
  const SeenCollective seen = seen_collective(trace, work);
  Simulated result{{}, seen.kind, ""};
  RecordedExchange exchange;
  exchange.kind = simulated_as(seen.kind);
  exchange.bytes = seen.bytes;
  exchange.group = seen.group;
  exchange.members = members_of(trace.name_of(work.members), seen.group);
  exchange.stride = stride_of(exchange.members);
  exchange.stream = work.stream;
  exchange.start = work.start;
  exchange.finish = work.finish;
  if (sends == Sends::taken && seen.kind == "send")
    result.list = sends_of(trace, work, exchange);
  if (!result.list.empty())
    return result;
  result.why_not = exchange.kind.empty() ? "that are no collective"
                   : seen.bytes <= 0     ? "whose size is not told"
                   : seen.group < 2      ? "whose group is not told"
                   : exchange.stride < 1 ? "of ranks at unequal distances"
                                         : "";
  if (result.why_not.empty())
    result.list.push_back(std::move(exchange));
  return result;
}

// Groups of some of the ranks that do not tell which.
bool of_unknown_ranks(const RecordedExchange& exchange, const Trace& trace)
{
  const auto told = static_cast<int>(exchange.members.size());
  return exchange.group > 0 && told != exchange.group && (told > 0 || exchange.group < trace.world);
}

} // namespace

bool is_simulated(const Trace& trace, const DeviceWork& work, Sends sends)
{
  return work.kind == KernelClass::collective && simulated(trace, work, sends).why_not.empty();
}

RecordedExchanges find_exchanges(const Trace& trace, const TraceStep& step, Sends sends)
{
  RecordedExchanges found;
  std::vector<std::pair<RecordedExchange, Launch>> all;
  std::map<std::string, std::pair<int, double>> left;
  int unknown = 0;
  for (const StepWork& item : step.work) { // by start
    const DeviceWork& work = trace.work[item.index];
    if (work.kind != KernelClass::collective)
      continue;
    Simulated kernel = simulated(trace, work, sends);
    for (RecordedExchange& exchange : kernel.list) {
      exchange.phase = item.phase;
      exchange.launched = item.launched;
      unknown += of_unknown_ranks(exchange, trace) ? 1 : 0;
      all.emplace_back(std::move(exchange), launch_of(trace, work));
    }
    if (kernel.why_not.empty())
      continue;
    auto& [count, time] = left[kernel.kind + " kernels " + kernel.why_not];
    ++count;
    time += work.seconds();
  }
  if (unknown > 0)
    found.notes.push_back(fmt::format("{} collectives are of some of the ranks and do not tell of "
                                      "which in full: they count as at equal distances, neighbours "
                                      "where none is told",
                                      unknown));
  for (const auto& [what, sum] : left)
    found.notes.push_back(fmt::format("{} {}, {:.3f} ms in all, are not simulated: what the device "
                                      "waited for them stays as idle time",
                                      sum.first, what, sum.second * 1e3));
  std::vector<Launch> launches;
  for (auto& [exchange, launch] : all) {
    found.list.push_back(std::move(exchange));
    launches.push_back(launch);
  }
  release(trace, step, found.list, launches);
  return found;
}

void tell_waiting(const Trace& trace, const Steps& steps, RecordedExchanges& exchanges)
{
  std::vector<double> shortest;
  double rate = kSlowestLink;
  for (const RecordedExchange& exchange : exchanges.list)
    shortest.push_back(exchange.finish - exchange.start);
  for (const TraceStep& step : steps.list) {
    const auto others = find_exchanges(trace, step).list;
    const bool like = others.size() == exchanges.list.size();
    for (std::size_t i = 0; i < others.size(); ++i) {
      const double time = others[i].finish - others[i].start;
      if (time <= 0)
        continue;
      rate = std::max(rate, bus_bytes(others[i]) / time);
      if (like && others[i].kind == exchanges.list[i].kind &&
          std::abs(others[i].bytes / exchanges.list[i].bytes - 1) < kSameSize)
        shortest[i] = std::min(shortest[i], time);
    }
  }
  for (std::size_t i = 0; i < exchanges.list.size(); ++i) {
    RecordedExchange& exchange = exchanges.list[i];
    const double needed = std::min(shortest[i], kSlowBegin + bus_bytes(exchange) / rate);
    const double beyond = exchange.finish - exchange.start - needed;
    exchange.waited = beyond > kResolution ? beyond : 0;
  }
}

} // namespace foretrain::models
