#include "sim/workload/program.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

namespace foretrain::sim {

namespace {

constexpr std::array kKinds{"compute",    "host",     "offload", "fetch",
                            "collective", "transfer", "agree",   "synchronise",
                            "variables",  "wait",     "join"};
constexpr std::array kCollectiveNames{"all-reduce", "all-gather", "reduce-scatter",
                                      "broadcast",  "all-to-all", "neighbours"};
static_assert(kCollectiveNames.size() == kCollectives);
constexpr std::array kPhaseNames{"forward", "backward", "recompute", "optimizer",
                                 "tensor",  "context",  "pipeline",  "expert",
                                 "data",    "input",    "framework"};
static_assert(kPhaseNames.size() == kPhases);

// Names repeat in runs: the last ones are looked at first.
constexpr std::size_t kLookBack = 64;

} // namespace

const char* name_of(WorkKind kind)
{
  return kKinds[static_cast<std::size_t>(kind)];
}

const char* name_of(CollectiveKind kind)
{
  return kCollectiveNames[static_cast<std::size_t>(kind)];
}

const char* name_of(Phase phase)
{
  return kPhaseNames[static_cast<std::size_t>(phase)];
}

bool exchanges(Phase phase)
{
  return phase >= Phase::tensor && phase <= Phase::data;
}

bool takes_bytes(WorkKind kind)
{
  return kind == WorkKind::offload || kind == WorkKind::collective || kind == WorkKind::transfer ||
         kind == WorkKind::synchronise || kind == WorkKind::variables;
}

bool takes_time(WorkKind kind)
{
  return kind == WorkKind::compute || kind == WorkKind::host || kind == WorkKind::agree ||
         kind == WorkKind::wait;
}

bool varies(const Operation& op)
{
  return op.kind == WorkKind::compute && op.phase != Phase::optimizer;
}

Seconds length_alone(const Operation& op, double stretch)
{
  switch (op.kind) {
  case WorkKind::compute:
    return Seconds(varies(op) ? stretch * op.amount : op.amount);
  case WorkKind::host:
  case WorkKind::agree:
  case WorkKind::wait:
    return Seconds(op.amount);
  case WorkKind::collective:
  case WorkKind::transfer:
  case WorkKind::offload:
    return op.alone;
  case WorkKind::fetch:
  case WorkKind::synchronise:
  case WorkKind::variables:
  case WorkKind::join:
    break;
  }
  return Seconds(0);
}

bool of_group(const Operation& op)
{
  return op.kind == WorkKind::collective || op.kind == WorkKind::synchronise ||
         op.kind == WorkKind::variables;
}

Seconds until_agreed(const Operation& op, Seconds ready, double phase)
{
  const Seconds cost(op.amount);
  if (op.period.value() <= 0)
    return cost;
  const double cycles = ready / op.period - phase;
  return std::max(0.0, std::ceil(cycles - 1e-9) - cycles) * op.period + cost;
}

int Program::add_stream(std::string stream)
{
  streams.push_back(std::move(stream));
  return static_cast<int>(streams.size()) - 1;
}

int Program::add_group(WorkGroup group)
{
  groups.push_back(std::move(group));
  return static_cast<int>(groups.size()) - 1;
}

OpId Program::add(Operation op, std::string_view what)
{
  const std::size_t oldest = names.size() > kLookBack ? names.size() - kLookBack : 0;
  std::size_t i = names.size();
  while (i > oldest && names[i - 1] != what)
    --i;
  if (i == oldest) {
    names.emplace_back(what);
    i = names.size();
  }
  op.name = static_cast<int>(i) - 1;
  operations.push_back(op);
  return {static_cast<int>(operations.size()) - 1};
}

OpId Program::on_rank(WorkKind kind, int rank, Phase phase, std::string_view what, double amount,
                      int stream)
{
  Operation op;
  op.kind = kind;
  op.phase = phase;
  op.rank = rank;
  op.stream = stream;
  op.amount = amount;
  return add(op, what);
}

OpId Program::compute(int rank, Phase phase, std::string_view what, Seconds time, int stream)
{
  return on_rank(WorkKind::compute, rank, phase, what, time.value(), stream);
}

OpId Program::host(int rank, Phase phase, std::string_view what, Seconds core_time, int stream)
{
  return on_rank(WorkKind::host, rank, phase, what, core_time.value(), stream);
}

OpId Program::offload(int rank, Phase phase, std::string_view what, Bytes size, bool to_host,
                      int stream)
{
  const OpId id = on_rank(WorkKind::offload, rank, phase, what, size.value(), stream);
  operations.back().to_host = to_host;
  return id;
}

OpId Program::fetch(int rank, int stream)
{
  return on_rank(WorkKind::fetch, rank, Phase::input, "wait for batch", 0, stream);
}

OpId Program::wait(int rank, Phase phase, std::string_view what, Seconds time, int stream)
{
  return on_rank(WorkKind::wait, rank, phase, what, time.value(), stream);
}

OpId Program::agree(Seconds cost, Seconds period)
{
  const OpId id = on_rank(WorkKind::agree, -1, Phase::framework, "coordination", cost.value(), -1);
  operations.back().period = period;
  return id;
}

OpId Program::synchronise(int group, std::string_view what, Bytes size)
{
  const OpId id = on_rank(WorkKind::synchronise, -1, Phase::data, what, size.value(), -1);
  operations.back().group = group;
  return id;
}

OpId Program::variables(int group, std::string_view what, Bytes size)
{
  const OpId id = on_rank(WorkKind::variables, -1, Phase::data, what, size.value(), -1);
  operations.back().group = group;
  return id;
}

OpId Program::collective(int group, CollectiveKind kind, Phase phase, std::string_view what,
                         Bytes size, int stream)
{
  const OpId id = on_rank(WorkKind::collective, -1, phase, what, size.value(), stream);
  operations.back().collective = kind;
  operations.back().group = group;
  return id;
}

OpId Program::transfer(int from, int to, Phase phase, std::string_view what, Bytes size, int stream,
                       int group)
{
  const OpId id = on_rank(WorkKind::transfer, from, phase, what, size.value(), stream);
  operations.back().peer = to;
  operations.back().group = group;
  return id;
}

OpId Program::join(Phase phase)
{
  Operation op;
  op.phase = phase;
  return add(op, "join");
}

void Program::order(OpId first, OpId second)
{
  if (first && second)
    edges.emplace_back(first.value, second.value);
}

std::vector<std::pair<int, int>> Program::all_edges() const
{
  std::vector<int> last(ranks.size() * streams.size(), -1);
  auto all = edges;
  const auto follow = [&](int rank, int stream, int op) {
    int& before =
        last[static_cast<std::size_t>(rank) * streams.size() + static_cast<std::size_t>(stream)];
    if (before >= 0)
      all.emplace_back(before, op);
    before = op;
  };
  for (int i = 0; i < static_cast<int>(operations.size()); ++i) {
    const Operation& op = operations[static_cast<std::size_t>(i)];
    if (op.stream < 0)
      continue;
    if (op.kind == WorkKind::collective)
      for (const int rank : groups[static_cast<std::size_t>(op.group)].ranks)
        follow(rank, op.stream, i);
    else
      follow(op.rank, op.stream, i);
  }
  return all;
}

const std::string& Program::name_of(const Operation& op) const
{
  return names.at(static_cast<std::size_t>(op.name));
}

void Program::check() const
{
  const auto within = [](int index, std::size_t size) {
    return index >= 0 && index < static_cast<int>(size);
  };
  for (const Operation& op : operations) {
    const bool nobodys = op.kind == WorkKind::join || op.kind == WorkKind::agree;
    const bool of_rank = !nobodys && !of_group(op);
    if ((of_rank && !within(op.rank, ranks.size())) ||
        (op.kind == WorkKind::transfer && !within(op.peer, ranks.size())) ||
        (of_group(op) && !within(op.group, groups.size())) ||
        (op.stream >= 0 && !within(op.stream, streams.size())))
      throw std::logic_error("program '" + name + "': " + foretrain::sim::name_of(op.kind) + " '" +
                             name_of(op) + "' has no rank, group or stream");
    if (!(op.amount >= 0))
      throw std::logic_error("program '" + name + "': '" + name_of(op) +
                             "' takes less than nothing");
  }
  for (const WorkGroup& group : groups)
    for (const int rank : group.ranks)
      if (!within(rank, ranks.size()))
        throw std::logic_error("program '" + name + "': group '" + group.name + "' has no rank");
  for (const auto& [first, second] : edges)
    if (!within(first, operations.size()) || !within(second, operations.size()))
      throw std::logic_error("program '" + name + "': an edge leads nowhere");
}

} // namespace foretrain::sim
