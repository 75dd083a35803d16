#include "sim/workload/program_file.hpp"

#include "sim/base/text.hpp"
#include "sim/workload/work_order.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace foretrain::sim {

namespace {

template <class Kind>
Kind kind_of(const std::string& word, int count)
{
  for (int i = 0; i < count; ++i)
    if (word == name_of(static_cast<Kind>(i)))
      return static_cast<Kind>(i);
  return Kind{};
}

constexpr int kKindCount = static_cast<int>(WorkKind::join) + 1;

// Reads one operation after the other into a program whose ranks, groups and streams are there.
class OperationReader {
public:
  OperationReader(const ProgramSpec& spec, Program& program) : spec_(spec), program_(program) {}

  void read(const Value& at, const OperationSpec& op)
  {
    const auto kind = kind_of<WorkKind>(op.kind, kKindCount);
    const auto phase = kind_of<Phase>(op.phase, kPhases);
    const int stream = op.stream ? stream_of(at, *op.stream) : -1;
    check_keys(at, op, kind);
    const std::string& what = op.name.empty() ? op.kind : op.name;
    const Bytes size(op.size_byte);
    switch (kind) {
    case WorkKind::compute:
      program_.compute(rank(at, "rank", op.rank), phase, what, Seconds(op.time_s), stream);
      break;
    case WorkKind::host:
      program_.host(rank(at, "rank", op.rank), phase, what, Seconds(op.time_s), stream);
      break;
    case WorkKind::wait:
      program_.wait(rank(at, "rank", op.rank), phase, what, Seconds(op.time_s), stream);
      break;
    case WorkKind::offload:
      program_.offload(rank(at, "rank", op.rank), phase, what, size, op.to_host, stream);
      break;
    case WorkKind::fetch:
      program_.fetch(rank(at, "rank", op.rank), stream);
      break;
    case WorkKind::collective:
      if (!op.collective)
        at.fail_at("collective", "is missing");
      program_.collective(group(at, op), kind_of<CollectiveKind>(*op.collective, kCollectives),
                          phase, what, size, stream);
      program_.operations.back().calls = op.calls;
      program_.operations.back().holds = op.holds;
      break;
    case WorkKind::transfer: {
      const int from = rank(at, "rank", op.rank), to = rank(at, "to", op.to);
      if (from == to)
        at.fail_at("to", fmt::format("is {}, the sender itself", to));
      program_.transfer(from, to, phase, what, size, stream,
                        op.group ? pairs(at, op, from, to) : -1);
      break;
    }
    case WorkKind::agree:
      program_.agree(Seconds(op.time_s), Seconds(op.period_s));
      break;
    case WorkKind::synchronise:
    case WorkKind::variables:
      at.fail_at("kind",
                 fmt::format("is '{}': a program from a file has no parameter servers and "
                             "no exchange through host memory",
                             op.kind),
                 "write the job's model and framework instead");
    case WorkKind::join:
      program_.join(phase);
      break;
    }
    add_edges(at, op);
  }

private:
  int rank(const Value& at, const char* key, const std::optional<int>& rank) const
  {
    if (!rank)
      at.fail_at(key, "is missing");
    if (*rank >= static_cast<int>(program_.ranks.size()))
      at.fail_at(key, fmt::format("is {}, but the program has {} ranks, counted from 0", *rank,
                                  program_.ranks.size()));
    return *rank;
  }

  int group(const Value& at, const OperationSpec& op) const
  {
    if (!op.group)
      at.fail_at("group", "is missing");
    if (*op.group >= static_cast<int>(program_.groups.size()))
      at.fail_at("group", fmt::format("is {}, but the program has {} groups, counted from 0",
                                      *op.group, program_.groups.size()));
    return *op.group;
  }

  // The group of a transfer, whose sets are pairs.
  int pairs(const Value& at, const OperationSpec& op, int from, int to) const
  {
    const int found = group(at, op);
    const WorkGroup& pair = program_.groups[static_cast<std::size_t>(found)];
    for (const auto& set : pair.devices)
      if (set.size() != 2)
        at.fail_at("group", "must have sets of two GPUs: sender and receiver");
    if (pair.ranks != std::vector<int>{from, to})
      at.fail_at("group",
                 fmt::format("has the ranks {}, and this goes from {} to {}",
                             fmt::join(pair.ranks, ", "), from, to),
                 "a group of these two in this order, or none");
    return found;
  }

  // What an operation of its kind does not read.
  static void check_keys(const Value& at, const OperationSpec& op, WorkKind kind)
  {
    const bool exchanges = kind == WorkKind::collective || kind == WorkKind::transfer;
    const bool has_rank =
        kind != WorkKind::collective && kind != WorkKind::agree && kind != WorkKind::join;
    const struct {
      const char* key;
      bool read, given;
    } keys[] = {
        {"time_s", takes_time(kind), op.time_s != 0},
        {"size_byte", takes_bytes(kind), op.size_byte != 0},
        {"period_s", kind == WorkKind::agree, op.period_s != 0},
        {"calls", kind == WorkKind::collective, op.calls != 1},
        {"holds", kind == WorkKind::collective, op.holds != 0},
        {"collective", kind == WorkKind::collective, op.collective.has_value()},
        {"to_host", kind == WorkKind::offload, op.to_host},
        {"to", kind == WorkKind::transfer, op.to.has_value()},
        {"group", exchanges, op.group.has_value()},
        {"rank", has_rank, op.rank.has_value()},
    };
    for (const auto& it : keys)
      if (it.given && !it.read)
        at.fail_at(it.key, fmt::format("has no influence on a {}", op.kind));
  }

  int stream_of(const Value& at, const std::string& name) const
  {
    const auto found = std::find(spec_.streams.begin(), spec_.streams.end(), name);
    if (found == spec_.streams.end())
      at.fail_at("stream", "is not a stream of the program: '" + excerpt(name) + "'",
                 suggestion(name, spec_.streams, "streams"));
    return static_cast<int>(found - spec_.streams.begin());
  }

  void add_edges(const Value& at, const OperationSpec& op)
  {
    const int own = static_cast<int>(program_.operations.size()) - 1;
    for (std::size_t i = 0; i < op.after.size(); ++i) {
      if (op.after[i] == own || op.after[i] >= static_cast<int>(spec_.operations.size()))
        at.at("after").at(i).fail(
            fmt::format("must be the place of another operation, there are {}, counted from 0",
                        spec_.operations.size()));
      program_.edges.emplace_back(op.after[i], own);
    }
  }

  const ProgramSpec& spec_;
  Program& program_;
};

} // namespace

Program read_program(const Value& at, ProgramSpec& spec)
{
  Reader::read(at, spec, {});
  if (spec.ranks.empty() || spec.operations.empty() || spec.streams.empty())
    at.fail("needs at least one rank, one stream and one operation");
  Program program;
  program.name = spec.name;
  program.streams = spec.streams;
  program.exchanges = spec.exchanges;
  for (const RankSpec& rank : spec.ranks)
    program.ranks.push_back({rank.device, rank.stands_for});
  for (std::size_t g = 0; g < spec.groups.size(); ++g) {
    const GroupSpec& group = spec.groups[g];
    WorkGroup made{group.name, group.ranks, group.devices, group.beside, group.algorithm};
    for (const int rank : group.ranks)
      if (rank >= static_cast<int>(spec.ranks.size()))
        at.at("groups").at(g).fail_at("ranks", fmt::format("names rank {}, but there are {}, "
                                                           "counted from 0",
                                                           rank, spec.ranks.size()));
    for (std::size_t i = 0; i < group.ranks.size(); ++i)
      if (const auto here = group.ranks.begin() + static_cast<std::ptrdiff_t>(i);
          std::find(group.ranks.begin(), here, *here) != here)
        at.at("groups").at(g).at("ranks").at(i).fail(
            fmt::format("is {}, which is there twice", group.ranks[i]));
    if (made.devices.empty()) {
      made.devices.emplace_back();
      for (const int rank : group.ranks)
        made.devices.front().push_back(program.ranks[static_cast<std::size_t>(rank)].device);
    }
    program.groups.push_back(std::move(made));
  }
  OperationReader reader(spec, program);
  for (std::size_t i = 0; i < spec.operations.size(); ++i)
    reader.read(at.at("operations").at(i), spec.operations[i]);
  if (WorkOrder(program).sequence().size() != program.operations.size())
    at.fail("has operations that wait for each other in a circle",
            "the order of a stream counts like edges");
  return program;
}

} // namespace foretrain::sim
