#include "sim/workload/program_json.hpp"

namespace foretrain::sim {

namespace {

Json to_json(const Program& program, const Operation& op)
{
  Json json = {{"kind", name_of(op.kind)}, {"phase", name_of(op.phase)}};
  if (op.kind == WorkKind::collective) {
    json["collective"] = name_of(op.collective);
    if (op.calls != 1)
      json["calls"] = op.calls;
    if (op.holds != 0)
      json["holds"] = op.holds;
    json["group"] = op.group;
  }
  if (op.kind != WorkKind::join)
    json["name"] = program.name_of(op);
  if (op.rank >= 0)
    json["rank"] = op.rank;
  if (op.peer >= 0)
    json["to"] = op.peer;
  if (op.kind != WorkKind::collective && op.group >= 0)
    json["group"] = op.group;
  if (op.period.value() > 0)
    json["period_s"] = op.period.value();
  if (op.kind == WorkKind::offload)
    json["to_host"] = op.to_host;
  if (op.stream >= 0)
    json["stream"] = program.streams.at(static_cast<std::size_t>(op.stream));
  if (takes_time(op.kind))
    json["time_s"] = op.amount;
  if (takes_bytes(op.kind))
    json["size_byte"] = op.amount;
  return json;
}

} // namespace

Json to_json(const Program& program)
{
  Json json = {{"format", "foretrain.program/1"},
               {"name", program.name},
               {"exchanges", word_of(program.exchanges)},
               {"streams", program.streams},
               {"ranks", Json::array()},
               {"groups", Json::array()},
               {"operations", Json::array()}};
  for (const WorkRank& rank : program.ranks)
    json["ranks"].push_back({{"device", rank.device}, {"stands_for", rank.stands_for}});
  for (const WorkGroup& group : program.groups) {
    json["groups"].push_back(
        {{"name", group.name}, {"ranks", group.ranks}, {"devices", group.devices}});
    if (!group.beside.empty())
      json["groups"].back()["beside"] = group.beside;
    if (group.algorithm != "auto")
      json["groups"].back()["algorithm"] = group.algorithm;
  }
  Json& operations = json["operations"];
  for (const Operation& op : program.operations)
    operations.push_back(to_json(program, op));
  for (const auto& [first, second] : program.edges)
    operations[static_cast<std::size_t>(second)]["after"].push_back(first);
  return json;
}

} // namespace foretrain::sim
