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

} // namespace

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
