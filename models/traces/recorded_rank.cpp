#include "models/traces/recorded_rank.hpp"

#include <algorithm>

namespace foretrain::models {

namespace {

double end_of_kernels(const Trace& trace, const TraceStep& step)
{
  double end = step.start;
  for (const StepWork& item : step.work)
    if (const DeviceWork& work = trace.work[item.index]; work.kind != KernelClass::collective)
      end = std::max(end, work.finish);
  return end;
}

// With its sends a step begins when the first of them does, once the kernels of the step before are
// done: what the rank waits for there is no idle time of the step before.
double begin_with_sends(const Trace& trace, const Steps& steps, std::size_t number)
{
  const TraceStep& step = steps.list[number];
  double begin = step.start;
  for (const StepWork& item : step.work) {
    const DeviceWork& work = trace.work[item.index];
    if (work.start < begin && work.kind == KernelClass::collective &&
        seen_collective(trace, work).kind == "send")
      begin = work.start;
  }
  return number == 0
             ? begin
             : std::max(begin, std::min(step.start, end_of_kernels(trace, steps.list[number - 1])));
}

TraceStep step_with_sends(const Trace& trace, const Steps& steps, const TraceStep& taken)
{
  const auto number = static_cast<std::size_t>(&taken - steps.list.data());
  TraceStep step = taken;
  step.start = begin_with_sends(trace, steps, number);
  if (step.followed && number + 1 < steps.list.size())
    step.finish = begin_with_sends(trace, steps, number + 1);
  else if (step.followed)
    step.finish = std::max(end_of_kernels(trace, taken), taken.finish + step.start - taken.start);
  return step;
}

RecordedLine recorded_line(const Trace& trace, const TraceStep& step, RecordedExchanges exchanges,
                           int rank)
{
  RecordedLine line;
  line.line = cut_line(trace, step, exchanges.list);
  line.line.rank = rank;
  line.exchanges = std::move(exchanges.list);
  line.notes = std::move(exchanges.notes);
  return line;
}

} // namespace

RecordedRank recorded_rank(const Trace& trace, const Steps& steps, const std::string& step)
{
  const auto named = std::find_if(steps.list.begin(), steps.list.end(),
                                  [&](const TraceStep& one) { return one.name == step; });
  const TraceStep& taken = named != steps.list.end() ? *named : steps.list[steps.typical];
  RecordedRank rank;
  rank.file = trace.file;
  rank.rank = std::max(0, trace.rank);
  rank.world = trace.world;
  rank.step = taken.name;
  rank.start = window_of(taken).start;
  rank.finish = window_of(taken).finish;
  rank.followed = taken.followed;
  RecordedExchanges exchanges = find_exchanges(trace, taken);
  tell_waiting(trace, steps, exchanges);
  rank.alone = recorded_line(trace, taken, std::move(exchanges), rank.rank);
  exchanges = find_exchanges(trace, taken, Sends::taken);
  rank.sends = exchanges.list.size() > rank.alone.exchanges.size();
  rank.with_sends = rank.sends ? recorded_line(trace, step_with_sends(trace, steps, taken),
                                               std::move(exchanges), rank.rank)
                               : rank.alone;
  return rank;
}

} // namespace foretrain::models
