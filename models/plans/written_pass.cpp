#include "models/plans/written_pass.hpp"

#include <algorithm>
#include <tuple>

namespace foretrain::models {

namespace {

using sim::Phase;

std::pair<std::vector<PhaseTime>, std::vector<PhaseTime>> cut(const std::vector<PhaseTime>& parts,
                                                              Seconds at)
{
  std::pair<std::vector<PhaseTime>, std::vector<PhaseTime>> both;
  for (const PhaseTime& part : parts) {
    const Seconds before = std::clamp(at, Seconds(0), part.time);
    both.first.push_back({part.phase, before});
    both.second.push_back({part.phase, part.time - before});
    at = at - before;
  }
  return both;
}

// Each group's exchanges have beside them what hides them, and no other's.
std::vector<WrittenPart> pass_parts(bool backward, const PieceCost& piece, const PlanUnit& unit,
                                    int count, double left)
{
  const LayerExchanges inside = (backward ? unit.back : unit.ahead).scaled(count);
  std::vector<Exposure> groups{inside.tensor, inside.context, inside.expert};
  if (unit.layer)
    groups.push_back((backward ? piece.data_back : piece.data_ahead)
                         .scaled(static_cast<double>(count) / std::max(1, piece.layers)));
  const Seconds time = count * left * (backward ? unit.backward : unit.forward);
  const Seconds wait = count * left * (backward ? unit.backward_wait : unit.forward_wait);
  std::vector<PhaseTime> rest{{Phase::framework, wait}, {Phase::forward, time - wait}};
  if (backward) {
    // What is repeated is not put off.
    const Seconds again =
        (piece.recompute / (piece.recompute + piece.backward_compute)) / left * (time - wait);
    rest = {{Phase::framework, wait},
            {Phase::recompute, again},
            {Phase::backward, time - wait - again}};
  }
  Seconds hidden; // of all
  for (const Exposure& group : groups)
    hidden += std::max(Seconds(0), group.whole - group.exposed);
  const double fits = hidden > time ? time / hidden : 1;
  std::vector<WrittenPart> parts;
  Seconds ahead = time - fits * hidden;
  for (Exposure& group : groups) {
    if (group.whole.value() <= 0)
      continue;
    WrittenPart part{unit.name, {}, {}, alike_as_one(std::move(group.calls))};
    std::tie(part.ahead, rest) = cut(rest, ahead);
    std::tie(part.beside, rest) =
        cut(rest, fits * std::max(Seconds(0), group.whole - group.exposed));
    parts.push_back(std::move(part));
    ahead = Seconds(0);
  }
  if (parts.empty())
    parts.push_back({unit.name, std::move(rest), {}, {}});
  return parts;
}

} // namespace

PlannedCalls alike_as_one(PlannedCalls calls)
{
  PlannedCalls merged;
  for (PlannedCall& call : calls) {
    const auto same = std::find_if(merged.begin(), merged.end(), [&](const PlannedCall& other) {
      return other.group == call.group && other.operation == call.operation &&
             other.size == call.size;
    });
    if (same == merged.end())
      merged.push_back(call);
    else
      same->times += call.times;
  }
  return merged;
}

WrittenPass written_pass(const PieceCost& piece, bool backward, int together, Seconds put_off)
{
  const Seconds computing = piece.backward_compute + piece.recompute;
  const double left = put_off.value() > 0 ? 1 - put_off / computing : 1;
  WrittenPass pass{{}, put_off};
  for (const PlanUnit& unit : piece.units)
    for (int done = 0; done < unit.count; done += together) {
      auto parts = pass_parts(backward, piece, unit, std::min(together, unit.count - done), left);
      if (backward) // the order of units is turned below, that of a unit's groups is not
        std::reverse(parts.begin(), parts.end());
      pass.parts.insert(pass.parts.end(), parts.begin(), parts.end());
    }
  if (backward)
    std::reverse(pass.parts.begin(), pass.parts.end());
  return pass;
}

} // namespace foretrain::models
