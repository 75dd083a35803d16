#include "models/traces/recorded_ranks.hpp"

#include "models/traces/joined_ranks.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace foretrain::models {

namespace {

std::string time_text(double seconds)
{
  return fmt::format("{:.6g} us", seconds * 1e6);
}

Json json_of(const MeasuredPiece& piece)
{
  Json json = {{"phase", piece.phase}};
  const MeasuredStretch& work = piece.work;
  for (const auto& [key, time] :
       {std::pair{"product", work.product}, {"memory", work.memory}, {"idle", work.idle}})
    if (time.value() > 0)
      json[key] = time_text(time.value());
  if (work.kernels > 0)
    json["kernels"] = work.kernels;
  if (work.host_bound)
    json["host_bound"] = true;
  if (!piece.after.empty())
    json["after"] = piece.after;
  if (!piece.starts.empty())
    json["starts"] = piece.starts;
  return json;
}

Json json_of(const MeasuredExchange& exchange)
{
  Json json = {{"kind", exchange.kind},
               {"size", fmt::format("{:.0f} B", std::max(1.0, exchange.size.value()))}};
  if (exchange.group > 0) {
    json["group"] = exchange.group;
    json["stride"] = exchange.stride;
  }
  if (exchange.waited.value() > 0)
    json["waited"] = time_text(exchange.waited.value());
  if (!exchange.lines.empty())
    json["lines"] = exchange.lines;
  if (!exchange.behind.empty())
    json["behind"] = exchange.behind;
  if (!exchange.receives_behind.empty())
    json["receives_behind"] = exchange.receives_behind;
  if (exchange.buffered)
    json["buffered"] = true;
  return json;
}

void tell_ranks(const std::vector<RecordedRank>& ranks, const std::vector<double>& clocks,
                Json& measured, std::vector<std::string>& notes)
{
  double first_start = ranks.front().start;
  double last_start = first_start;
  double last_finish = ranks.front().finish;
  double mean = 0;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const RecordedRank& rank = ranks[r];
    first_start = std::min(first_start, rank.start - clocks[r]);
    last_start = std::max(last_start, rank.start - clocks[r]);
    last_finish = std::max(last_finish, rank.finish - clocks[r]);
    mean += (rank.finish - rank.start) / static_cast<double>(ranks.size());
  }
  const bool periodic = std::all_of(ranks.begin(), ranks.end(),
                                    [](const RecordedRank& rank) { return rank.followed; });
  const double step = periodic ? mean : last_finish - last_start;
  measured["step"] = time_text(step);
  notes.push_back(fmt::format("{} ranks of {}: a step of {:.3f} ms{}", ranks.size(),
                              std::max(ranks.front().world, static_cast<int>(ranks.size())),
                              step * 1e3,
                              periodic ? ""
                                       : fmt::format(" from the beginning of the last one, {:.3f} "
                                                     "ms after the first one's",
                                                     (last_start - first_start) * 1e3)));
}

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

void add_exchanges(const std::vector<RecordedRank>& ranks, Json& measured,
                   std::vector<std::string>& notes)
{
  const RecordedRank& first = ranks.front();
  int world = std::max(first.world, static_cast<int>(ranks.size()));
  for (const RecordedExchange& exchange : first.alone.exchanges)
    world = std::max(world, exchange.group);
  JoinedRanks joined;
  if (ranks.size() > 1)
    joined = join_ranks(ranks, world);
  else
    joined = {measured_exchanges(first.alone.exchanges, world),
              {first.alone.line},
              {},
              first.alone.notes};
  notes.insert(notes.end(), joined.notes.begin(), joined.notes.end());
  if (joined.exchanges.empty())
    return;
  Json list = Json::array();
  double waited = 0;
  int sends = 0;
  for (const MeasuredExchange& exchange : joined.exchanges) {
    list.push_back(json_of(exchange));
    waited += exchange.waited.value();
    sends += exchange.sends() ? 1 : 0;
  }
  measured["ranks"] = world;
  measured["exchanges"] = std::move(list);
  Json lines = Json::array();
  for (const MeasuredLine& line : joined.lines) {
    Json pieces = Json::array();
    for (const MeasuredPiece& piece : line.pieces)
      pieces.push_back(json_of(piece));
    lines.push_back({{"rank", line.rank}, {"pieces", std::move(pieces)}});
  }
  measured["lines"] = std::move(lines);
  notes.push_back(fmt::format("{} exchanges among {} ranks are simulated on more than one GPU{}",
                              joined.exchanges.size(), world,
                              sends > 0 ? fmt::format(", {} sends among them", sends) : ""));
  if (waited > 0)
    notes.push_back(
        fmt::format("in them the rank waited {:.3f} ms for others, whose recordings are "
                    "not here: kept as it was",
                    waited * 1e3));
  if (ranks.size() > 1)
    tell_ranks(ranks, joined.clocks, measured, notes);
}

} // namespace foretrain::models
