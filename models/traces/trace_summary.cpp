#include "models/traces/trace_summary.hpp"

#include "models/traces/recorded_model.hpp"
#include "models/traces/recorded_step.hpp"
#include "models/traces/seen_collective.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

namespace foretrain::models {

namespace {

constexpr double kBeside = 0.5;   // share of a kernel beside a collective from which it counts
constexpr double kShort = 10e-6;  // kernels that feel it most
constexpr double kAtOnce = 20e-6; // a kernel that follows within this was already launched

double median(std::vector<double> values)
{
  if (values.empty())
    return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Device time of all steps by what ran.
struct Spans {
  std::vector<Span> compute, exchange, copy, all, loader;
};

Spans spans_of(const Trace& trace, const std::vector<TraceStep>& steps)
{
  Spans spans;
  for (const TraceStep& step : steps)
    for (const StepWork& item : step.work) {
      const DeviceWork& work = trace.work[item.index];
      const Span span{work.start, work.finish};
      (work.kind == KernelClass::collective ? spans.exchange
       : copies_over_the_bus(trace, work)   ? spans.copy
                                            : spans.compute)
          .push_back(span);
      spans.all.push_back(span);
    }
  for (const Stretch& stretch : trace.stretches)
    if (trace.name_of(stretch.name).find("DataLoader") != std::string::npos)
      spans.loader.push_back({stretch.start, stretch.finish});
  for (auto* list : {&spans.compute, &spans.exchange, &spans.copy, &spans.all, &spans.loader})
    *list = merged(std::move(*list));
  return spans;
}

std::vector<Span> without(const std::vector<Span>& from, const std::vector<Span>& cut)
{
  std::vector<Span> rest;
  auto next = cut.begin();
  for (Span span : from) {
    while (next != cut.end() && next->finish <= span.start)
      ++next;
    for (auto it = next; it != cut.end() && it->start < span.finish; ++it) {
      if (it->start > span.start)
        rest.push_back({span.start, it->start});
      span.start = std::max(span.start, it->finish);
    }
    if (span.finish > span.start)
      rest.push_back(span);
  }
  return rest;
}

// Kernels of a step may run on after it: they are the next one's time.
std::vector<Span> within(const std::vector<Span>& spans, const std::vector<Span>& windows)
{
  std::vector<Span> inside;
  for (const Span& window : windows)
    for (auto it = std::lower_bound(spans.begin(), spans.end(), window.start,
                                    [](const Span&s, double t) { return s.finish <= t; });
         it != spans.end() && it->start < window.finish; ++it)
      inside.push_back({std::max(it->start, window.start), std::min(it->finish, window.finish)});
  return inside;
}

void add_times(TraceSummary& sum, const Trace& trace, const std::vector<TraceStep>& steps)
{
  Spans spans = spans_of(trace, steps);
  std::vector<Span> windows;
  for (const TraceStep& step : steps)
    windows.push_back(window_of(step));
  windows = merged(std::move(windows));
  for (auto* list : {&spans.compute, &spans.exchange, &spans.copy, &spans.all, &spans.loader})
    *list = within(*list, windows);
  const double share = 1.0 / static_cast<double>(steps.size());
  const auto both = [](const std::vector<Span>& a, const std::vector<Span>& b) {
    return length(a) + length(b) - common(a, b);
  };
  sum.step = share * length(windows);
  sum.compute = share * length(spans.compute);
  sum.hidden = share * common(spans.compute, spans.exchange);
  sum.exposed = std::max(0.0, share * length(spans.exchange) - sum.hidden);
  sum.copies = // not below 0 by rounding
      std::max(0.0, share * (length(spans.all) - both(spans.compute, spans.exchange)));
  const std::vector<Span> nothing = without(windows, spans.all);
  sum.input = share * common(nothing, spans.loader);
  sum.idle = std::max(0.0, share * length(nothing) - sum.input);
}

void add_kernels(TraceSummary& sum, const Trace& trace, const std::vector<TraceStep>& steps)
{
  std::map<std::uint32_t, KernelSum> kernels;
  const double share = 1.0 / static_cast<double>(steps.size());
  for (const TraceStep& step : steps)
    for (const StepWork& item : step.work) {
      const DeviceWork& work = trace.work[item.index];
      KernelSum& kernel = kernels[work.name];
      kernel.kind = work.kind;
      kernel.count += share;
      kernel.seconds += share * work.seconds();
      sum.kernels += share;
    }
  for (auto& [name, kernel] : kernels) {
    kernel.name = trace.name_of(name);
    sum.top.push_back(std::move(kernel));
  }
  std::stable_sort(sum.top.begin(), sum.top.end(),
                   [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
}

void add_collectives(TraceSummary& sum, const Trace& trace, const std::vector<TraceStep>& steps)
{
  std::map<std::tuple<std::string, double, int>, CollectiveSum> collectives;
  for (const TraceStep& step : steps)
    for (const StepWork& item : step.work) {
      const DeviceWork& work = trace.work[item.index];
      if (work.kind != KernelClass::collective)
        continue;
      const SeenCollective seen = seen_collective(trace, work);
      CollectiveSum& one = collectives[{seen.kind, seen.bytes, seen.group}];
      one.kind = seen.kind;
      one.bytes = seen.bytes;
      one.group = seen.group;
      one.seconds = one.count == 0 ? work.seconds() : std::min(one.seconds, work.seconds());
      one.mean += work.seconds();
      ++one.count;
      one.bus_rate = seen.bus_rate(one.seconds);
    }
  for (auto& [key, one] : collectives) {
    one.mean /= one.count;
    sum.collectives.push_back(std::move(one));
  }
  std::stable_sort(
      sum.collectives.begin(), sum.collectives.end(),
      [](const auto& a, const auto& b) { return a.mean * a.count > b.mean * b.count; });
}

// A kernel at its place in the step: how long with, how long without a collective beside it.
struct Pairing {
  std::vector<double> beside, alone;
  KernelClass kind = KernelClass::memory;
};

// Two launches are the same kernel where name, grid, block and place among their like in a step
// agree, in the order in which they were launched.
using Place = std::tuple<std::uint32_t, std::uint64_t, int>;

double mean(const std::vector<double>& values)
{
  return values.empty() ? 0
                        : std::accumulate(values.begin(), values.end(), 0.0) /
                              static_cast<double>(values.size());
}

// Time of a kernel in which any of the spans runs, too.
double shared(const DeviceWork& work, const std::vector<Span>& spans)
{
  auto next = std::lower_bound(spans.begin(), spans.end(), work.start,
                               [](const Span& s, double t) { return s.finish <= t; });
  double sum = 0;
  for (; next != spans.end() && next->start < work.finish; ++next)
    sum += std::min(work.finish, next->finish) - std::max(work.start, next->start);
  return sum;
}

// What runs beside the kernels of the main stream.
struct Beside {
  int stream = -1;
  std::vector<Span> exchanges, others;
};

Beside beside_main_stream(const Trace& trace)
{
  Beside beside;
  const int device = busiest_device(trace);
  beside.stream = main_stream(trace, device);
  for (const DeviceWork& work : trace.work) { // of steps that were not recorded whole, too
    if (work.device != device)
      continue;
    if (work.kind == KernelClass::collective)
      beside.exchanges.push_back({work.start, work.finish});
    else if (work.stream != beside.stream && work.kind != KernelClass::copy)
      beside.others.push_back({work.start, work.finish});
  }
  beside.exchanges = merged(std::move(beside.exchanges));
  beside.others = merged(std::move(beside.others));
  return beside;
}

void pair_up(const Trace& trace, const TraceStep& step, const Beside& beside,
             std::map<Place, Pairing>& pairs)
{
  std::vector<StepWork> launches = step.work;
  std::stable_sort(launches.begin(), launches.end(),
                   [](const StepWork& a, const StepWork& b) { return a.launched < b.launched; });
  std::map<std::pair<std::uint32_t, std::uint64_t>, int> seen;
  for (const StepWork& item : launches) {
    const DeviceWork& work = trace.work[item.index];
    if (work.kind == KernelClass::collective || work.kind == KernelClass::copy ||
        work.stream != beside.stream || trace.name_of(work.name).starts_with("Memset"))
      continue;
    const int place = seen[{work.name, work.shape}]++;
    if (work.seconds() <= 0 || shared(work, beside.others) > 0)
      continue;
    Pairing& pair = pairs[{work.name, work.shape, place}];
    pair.kind = work.kind;
    const double with = shared(work, beside.exchanges);
    if (with <= 0)
      pair.alone.push_back(work.seconds());
    else if (with >= kBeside * work.seconds())
      pair.beside.push_back(work.seconds());
  }
}

void add_slowdowns(TraceSummary& sum, const Trace& trace, const std::vector<TraceStep>& steps)
{
  const Beside beside = beside_main_stream(trace);
  if (beside.exchanges.empty())
    return;
  std::map<Place, Pairing> pairs;
  for (const TraceStep& step : steps)
    pair_up(trace, step, beside, pairs);
  const auto add = [&](const char* what, const auto& belongs) {
    Slowdown slow{what};
    double with = 0;
    double without_one = 0;
    for (const auto& [key, pair] : pairs) {
      if (pair.beside.empty() || pair.alone.empty() || !belongs(pair))
        continue;
      with += mean(pair.beside);
      without_one += mean(pair.alone);
      ++slow.kernels;
    }
    if (slow.kernels == 0)
      return;
    slow.factor = with / without_one;
    slow.added = (with - without_one) / slow.kernels;
    sum.slowdowns.push_back(slow);
  };
  add("all", [](const Pairing&) { return true; });
  add("products", [](const Pairing& p) { return p.kind == KernelClass::product; });
  add("memory-bound", [](const Pairing& p) { return p.kind == KernelClass::memory; });
  add("below 10 us", [](const Pairing& p) { return mean(p.alone) < kShort; });
}

void add_launches(TraceSummary& sum, const Trace& trace)
{
  std::map<int, double> last; // end of the stream's last work
  std::map<int, double> busy; // end of what the device has begun
  std::vector<double> gaps;
  std::vector<double> delays;
  for (const DeviceWork& work : trace.work) {
    const auto [at, first] = last.try_emplace(work.stream, work.finish);
    const double gap = work.start - at->second;
    if (!first && gap >= 0 && gap < kAtOnce)
      gaps.push_back(gap);
    const Call* call = call_of(trace, work);
    double& done = busy[work.device];
    if (!first && call != nullptr && call->start > done && work.start > call->start)
      delays.push_back(work.start - call->start);
    at->second = std::max(at->second, work.finish);
    done = std::max(done, work.finish);
  }
  sum.gap = median(std::move(gaps));
  sum.launch_delay = median(std::move(delays));
}

// Those of known length; where there is none, all as far as they go.
std::vector<TraceStep> told_steps(const Steps& steps)
{
  std::vector<TraceStep> whole;
  for (const std::size_t i : whole_steps(steps.list))
    whole.push_back(steps.list[i]);
  return whole.empty() ? steps.list : whole;
}

} // namespace

TraceSummary summarise(const Trace& trace)
{
  const Steps found = find_steps(trace);
  const std::vector<TraceStep> steps = told_steps(found);
  TraceSummary sum;
  sum.file = trace.file;
  sum.format = trace.format;
  const auto device = static_cast<std::size_t>(busiest_device(trace));
  sum.device = device < trace.device_names.size() ? trace.device_names[device] : "";
  sum.steps_by = found.found_by;
  sum.steps = static_cast<int>(steps.size());
  sum.rank = trace.rank;
  sum.world = trace.world;
  sum.variation = found.variation;
  sum.notes = trace.notes;
  add_times(sum, trace, steps);
  add_kernels(sum, trace, steps);
  add_collectives(sum, trace, steps);
  add_slowdowns(sum, trace, steps);
  add_launches(sum, trace);
  return sum;
}

} // namespace foretrain::models
