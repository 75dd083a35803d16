// Work programs as files: what `foretrain program show --format json` prints can be read again, and
// other tools can hand work over. Lists of operations are in the order of their streams.
#pragma once

#include "sim/base/catalog.hpp"
#include "sim/base/schema.hpp"
#include "sim/workload/program.hpp"

#include <optional>

namespace foretrain::sim {

inline const PresetKind kProgramKind{"program", "models/data/programs"};

struct RankSpec {
  int device = 0;
  int stands_for = 1;
};

struct GroupSpec {
  std::string name;
  std::vector<int> ranks;
  std::vector<std::vector<int>> devices; // default: one set, the devices of the ranks
  std::vector<std::vector<int>> beside;
  std::string algorithm = "auto";
};

struct OperationSpec {
  std::string kind;
  std::string phase = "forward";
  std::string name;
  std::optional<std::string> collective;
  std::optional<int> group, rank, to;
  std::optional<std::string> stream;
  bool to_host = false;
  double time_s = 0;
  double period_s = 0;
  double size_byte = 0;
  double calls = 1;
  double holds = 0;
  std::vector<int> after;
};

struct ProgramSpec {
  std::string name = "program";
  std::string summary;
  std::vector<std::string> streams{"compute"};
  std::vector<RankSpec> ranks;
  std::vector<GroupSpec> groups;
  std::vector<OperationSpec> operations;
  double samples_per_step = 1;
  double step_variation = 0;
  double one_gpu_samples_per_s = 0;
  double device_memory_byte = 0; // 0: not told
  Exchanges exchanges = Exchanges::shared;
};

/// Throws ConfigError for operations whose rank, group, stream or edge is not there, and for
/// operations that wait for each other in a circle.
Program read_program(const Value& at, ProgramSpec& spec);

template <class V>
void describe(V& v, RankSpec& s)
{
  v.optional("device", s.device, "which of the job's GPUs, counted from 0", between(0, 1e6));
  v.optional("stands_for", s.stands_for, "GPUs that do the same, this one included",
             between(1, 1e7));
}

template <class V>
void describe(V& v, GroupSpec& s)
{
  v.optional("name", s.name, "for people");
  v.required("ranks", s.ranks, "that wait for its collectives", between(0, 1e6));
  v.optional("devices", s.devices,
             "sets of GPUs: the members, then sets that do the same at the same time; default: "
             "those of the ranks",
             between(0, 1e6));
  v.optional("beside", s.beside,
             "sets of GPUs that exchange at the same time and are not waited for", between(0, 1e6));
  v.optional("algorithm", s.algorithm,
             "of its collectives, as in a framework; default: what the library chooses");
}

template <class V>
void describe(V& v, OperationSpec& s)
{
  v.required("kind", s.kind, "what it does",
             one_of({"compute", "host", "offload", "fetch", "collective", "transfer", "agree",
                     "synchronise", "variables", "wait", "join"}));
  v.optional("phase", s.phase, "what it is part of",
             one_of({"forward", "backward", "recompute", "optimizer", "tensor", "context",
                     "pipeline", "expert", "data", "input", "framework"}));
  v.optional("name", s.name, "of the kernel, for timelines");
  v.optional("collective", s.collective, "of a collective: which",
             one_of({"all-reduce", "all-gather", "reduce-scatter", "broadcast", "all-to-all",
                     "neighbours"}));
  v.optional("group", s.group, "of a collective or a transfer, counted from 0", between(0, 1e6));
  v.optional("rank", s.rank, "where it runs; sender of a transfer", between(0, 1e6));
  v.optional("to", s.to, "receiver of a transfer", between(0, 1e6));
  v.optional("stream", s.stream, "whose order it keeps; default: only that of its edges");
  v.optional("to_host", s.to_host, "of an offload: from the GPU to host memory");
  v.optional("time_s", s.time_s, "of compute, host work, one agreement or a wait", between(0, 1e9));
  v.optional("period_s", s.period_s,
             "of an agreement: how often the loop wakes that asks the ranks; 0: at once",
             between(0, 1e9));
  v.optional("size_byte", s.size_byte,
             "of an exchange: the whole buffer, as nccl-tests counts; of an offload",
             between(0, 1e18));
  v.optional("calls", s.calls, "of a collective: so many of that size, one after the other",
             between(0, 1e9));
  v.optional("holds", s.holds,
             "of a collective: the share of its GPUs' arithmetic that it takes while it runs",
             between(0, 0.99));
  v.optional("after", s.after, "places in the list of operations that it waits for",
             between(0, 1e9));
}

template <class V>
void describe(V& v, ProgramSpec& s)
{
  v.format("foretrain.program/1");
  v.optional("name", s.name, "name of the program");
  v.optional("summary", s.summary, "for people");
  v.optional("streams", s.streams,
             "of every rank; the first one is what the GPU computes, idle time there is told");
  v.required("ranks", s.ranks, "simulated GPUs");
  v.optional("groups", s.groups, "of ranks that exchange");
  v.required("operations", s.operations, "in the order of their streams");
  v.optional("samples_per_step", s.samples_per_step, "of all ranks", positive());
  v.optional("step_variation", s.step_variation, "coefficient of variation of one GPU's step time",
             between(0, 1));
  v.optional("one_gpu_samples_per_s", s.one_gpu_samples_per_s,
             "of one GPU by itself, which speed-up and efficiency are against; default: a GPU that "
             "never waits",
             between(0, 1e12));
  v.optional("device_memory_byte", s.device_memory_byte,
             "device memory that the GPU with the most of it needs; default: not known, and a "
             "warning",
             between(0, 1e15));
  v.optional("exchanges", s.exchanges,
             "shared: those that run at the same time share their links; apart: each takes what "
             "it takes alone, unless other jobs are in its way");
}

} // namespace foretrain::sim
