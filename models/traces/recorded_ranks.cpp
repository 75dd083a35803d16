#include "models/traces/recorded_ranks.hpp"

#include "sim/base/error.hpp"

#include <algorithm>
#include <cmath>

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
  return json;
}

// The rank's clock over that of the first one.
double offset_of(const RecordedRank& rank, const RecordedRank& first)
{
  std::vector<double> offsets;
  for (std::size_t e = 0; e < first.exchanges.size(); ++e)
    offsets.push_back(rank.exchanges[e].finish - first.exchanges[e].finish);
  std::nth_element(offsets.begin(),
                   offsets.begin() + static_cast<std::ptrdiff_t>(offsets.size() / 2),
                   offsets.end());
  return offsets[offsets.size() / 2];
}

void check_same(const RecordedRank& rank, const RecordedRank& first)
{
  const std::string hint = "record the same step on all ranks, or import one of them alone";
  if (rank.exchanges.size() != first.exchanges.size())
    throw ConfigError(rank.file, "",
                      fmt::format("holds {} exchanges in {}, {} holds {} in {}",
                                  rank.exchanges.size(), rank.step, first.file,
                                  first.exchanges.size(), first.step),
                      hint);
  for (std::size_t e = 0; e < first.exchanges.size(); ++e)
    if (rank.exchanges[e].kind != first.exchanges[e].kind ||
        rank.exchanges[e].group != first.exchanges[e].group)
      throw ConfigError(rank.file, "",
                        fmt::format("has {} of {} ranks as exchange {}, {} has {} of {} ranks",
                                    rank.exchanges[e].kind, rank.exchanges[e].group, e, first.file,
                                    first.exchanges[e].kind, first.exchanges[e].group),
                        hint);
}

// Exchanges as all ranks together tell them: none waited for what was not recorded.
std::vector<RecordedExchange> joined_exchanges(const std::vector<RecordedRank>& ranks)
{
  std::vector<RecordedExchange> joined = ranks.front().exchanges;
  if (ranks.size() == 1)
    return joined;
  for (std::size_t e = 0; e < joined.size(); ++e) {
    joined[e].waited = 0;
    joined[e].bytes = 0;
    for (const RecordedRank& rank : ranks)
      joined[e].bytes += rank.exchanges[e].bytes / static_cast<double>(ranks.size());
  }
  return joined;
}

void tell_ranks(const std::vector<RecordedRank>& ranks, Json& measured,
                std::vector<std::string>& notes)
{
  double first_start = ranks.front().start;
  double last_start = first_start;
  double last_finish = ranks.front().finish;
  double mean = 0;
  for (const RecordedRank& rank : ranks) {
    const double offset = offset_of(rank, ranks.front());
    first_start = std::min(first_start, rank.start - offset);
    last_start = std::max(last_start, rank.start - offset);
    last_finish = std::max(last_finish, rank.finish - offset);
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

} // namespace

RecordedRank recorded_rank(const Trace& trace, const Steps& steps, const std::string& step)
{
  const auto named = std::find_if(steps.list.begin(), steps.list.end(),
                                  [&](const TraceStep& one) { return one.name == step; });
  const TraceStep& taken = named != steps.list.end() ? *named : steps.list[steps.typical];
  RecordedExchanges exchanges = find_exchanges(trace, taken);
  tell_waiting(trace, steps, exchanges);
  RecordedRank rank;
  rank.file = trace.file;
  rank.rank = std::max(0, trace.rank);
  rank.world = trace.world;
  rank.step = taken.name;
  rank.start = window_of(taken).start;
  rank.finish = window_of(taken).finish;
  rank.followed = taken.followed;
  rank.line = cut_line(trace, taken, exchanges.list);
  rank.line.rank = rank.rank;
  rank.exchanges = std::move(exchanges.list);
  rank.notes = std::move(exchanges.notes);
  return rank;
}

void add_exchanges(const std::vector<RecordedRank>& ranks, Json& measured,
                   std::vector<std::string>& notes)
{
  const RecordedRank& first = ranks.front();
  notes.insert(notes.end(), first.notes.begin(), first.notes.end());
  for (const RecordedRank& rank : ranks)
    check_same(rank, first);
  if (first.exchanges.empty())
    return;
  int world = std::max(first.world, static_cast<int>(ranks.size()));
  for (const RecordedExchange& exchange : first.exchanges)
    world = std::max(world, exchange.group);
  const auto exchanges = joined_exchanges(ranks);
  Json list = Json::array();
  double waited = 0;
  for (const MeasuredExchange& exchange : measured_exchanges(exchanges, world)) {
    list.push_back(json_of(exchange));
    waited += exchange.waited.value();
  }
  measured["ranks"] = world;
  measured["exchanges"] = std::move(list);
  Json lines = Json::array();
  for (const RecordedRank& rank : ranks) {
    Json pieces = Json::array();
    for (const MeasuredPiece& piece : rank.line.pieces)
      pieces.push_back(json_of(piece));
    lines.push_back({{"rank", rank.rank}, {"pieces", std::move(pieces)}});
  }
  measured["lines"] = std::move(lines);
  notes.push_back(fmt::format("{} exchanges among {} ranks are simulated on more than one GPU",
                              exchanges.size(), world));
  if (waited > 0)
    notes.push_back(
        fmt::format("in them the rank waited {:.3f} ms for others, whose recordings are "
                    "not here: kept as it was",
                    waited * 1e3));
  if (ranks.size() > 1)
    tell_ranks(ranks, measured, notes);
}

} // namespace foretrain::models
