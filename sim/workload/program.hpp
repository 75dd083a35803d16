// A work program: what every kind of job is written down as before it runs.
//
// Ranks with named streams, operations with edges, bytes and a phase; no hardware, no engine. Plans
// (data parallel, pipelines, traces ...) write programs, sim/workload/executor.hpp runs them,
// sim/workload/accountant.hpp says where the time of a step went.
//
// A rank may stand for several devices that do the same at the same time: then a group names the
// devices of every set of which one is simulated, so that what they share is shared.
#pragma once

#include "sim/base/choice.hpp"
#include "sim/base/units.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace foretrain::sim {

enum class WorkKind : unsigned char {
  compute,     // kernels on the rank's device: seconds
  host,        // host work that the rank's next operation waits for: seconds of one core
  offload,     // bytes between the rank's device and host memory
  fetch,       // the next batch of the rank's input
  collective,  // bytes on every rank of a group
  transfer,    // bytes from one rank to another
  agree,       // until the ranks know of each other that they are ready: seconds of one agreement
  synchronise, // bytes of gradients on every rank of a group, by parameter servers or host memory
  variables,   // what brings a synchronised bucket's values from its servers, from the step's start
  wait,        // seconds in which nothing works
  join,        // nothing: gathers edges
};

enum class CollectiveKind : unsigned char {
  all_reduce,
  all_gather,     // bytes: of the gathered buffer
  reduce_scatter, // bytes: of the whole buffer
  broadcast,
  all_to_all, // bytes: that a rank sends in all, its own part included
  neighbours, // bytes: that each rank sends to the next one of the ring
};

constexpr int kCollectives = 6;

/// What an operation is part of; time is told by these.
enum class Phase : unsigned char {
  forward,
  backward,
  recompute,
  optimizer,
  tensor,   // exchange within a tensor-parallel group
  context,  // ... context-parallel
  pipeline, // ... between pipeline stages
  expert,   // ... among experts
  data,     // ... of gradients and sharded weights
  input,
  framework,
};

constexpr int kPhases = 11;

const char* name_of(WorkKind kind);
const char* name_of(CollectiveKind kind);
const char* name_of(Phase phase);
/// Whether the phase is an exchange between ranks.
bool exchanges(Phase phase);

struct OpId {
  int value = -1;
  explicit operator bool() const { return value >= 0; }
  auto operator<=>(const OpId&) const = default;
};

struct Operation {
  WorkKind kind = WorkKind::join;
  CollectiveKind collective = CollectiveKind::all_reduce;
  Phase phase = Phase::forward;
  bool to_host = false; // of an offload: its direction
  int rank = -1;        // where it runs; the sender of a transfer; -1: of a group, or nowhere
  int peer = -1;        // the receiver of a transfer
  int group = -1;       // of a collective; of a transfer: which devices stand behind its ends
  int stream = -1;      // whose order it keeps; -1: its edges alone order it
  int name = -1;        // index into Program::names
  double amount = 0;    // seconds or bytes
  double calls = 1;     // of a collective: so many of these bytes each, one after the other
  double holds = 0;     // of a collective: the share of its devices' arithmetic that it takes
  Seconds alone{};  // of an exchange: what it takes with nothing in its way, where that is known
  Seconds period{}; // of an agreement: of the loop that asks for it; 0: at once
};

/// Whether every rank of its group takes part, none in particular.
bool of_group(const Operation& op);

/// Whether an operation's amount is bytes.
bool takes_bytes(WorkKind kind);

/// Whether it is seconds.
bool takes_time(WorkKind kind);

/// Whether the operation's time differs between devices and from step to step.
bool varies(const Operation& op);

/// What it takes with nothing in its way on a device whose kernels take `stretch` times as long as
/// those of an average one.
Seconds length_alone(const Operation& op, double stretch);

/// What an agreement takes that is asked for `ready` after the step's start: until the loop that
/// asks the ranks wakes, and one agreement. `phase`: where in its period the loop is when the step
/// starts, 0 to 1.
Seconds until_agreed(const Operation& op, Seconds ready, double phase);

/// One simulated device.
struct WorkRank {
  int device = 0;     // among the job's devices, counted from 0
  int stands_for = 1; // devices that do the same, this one and those after it
};

struct WorkGroup {
  std::string name;                       // "tensor of stage 0"
  std::vector<int> ranks;                 // that wait for its collectives
  std::vector<std::vector<int>> devices;  // its members, by device; sets beyond the first run the
                                          // same at the same time on other devices
  std::vector<std::vector<int>> beside{}; // sets that exchange at the same time, and are not
                                          // waited for: those of other stages
  std::string algorithm = "auto";         // of its collectives
  int size = 0;                           // members of a set, where devices are not listed

  /// 0 where neither tells it.
  int members() const { return devices.empty() ? size : static_cast<int>(devices.front().size()); }
};

/// What exchanges of one program do to each other where they use the same links at the same time.
enum class Exchanges : unsigned char {
  shared, // they share them
  apart,  // each takes what it takes with the other sets of its group beside it, and nothing else
};
constexpr auto choices(Exchanges)
{
  return std::to_array<Choice<Exchanges>>(
      {{Exchanges::shared, "shared"}, {Exchanges::apart, "apart"}});
}

class Program {
public:
  std::string name;
  Exchanges exchanges = Exchanges::shared;
  std::vector<WorkRank> ranks;
  /// The same on every rank. The first one is what the device computes: time in which nothing runs
  /// there is told by what it waited for.
  std::vector<std::string> streams{"compute"};
  std::vector<WorkGroup> groups;
  std::vector<Operation> operations; // in the order of their streams
  std::vector<std::pair<int, int>> edges;
  std::vector<std::string> names;

  int add_stream(std::string stream);
  int add_group(WorkGroup group);

  /// `what` names kernels in timelines and may be shared by many operations.
  OpId compute(int rank, Phase phase, std::string_view what, Seconds time, int stream = 0);
  OpId host(int rank, Phase phase, std::string_view what, Seconds core_time, int stream);
  OpId offload(int rank, Phase phase, std::string_view what, Bytes size, bool to_host, int stream);
  OpId fetch(int rank, int stream);
  OpId collective(int group, CollectiveKind kind, Phase phase, std::string_view what, Bytes size,
                  int stream);
  /// Keeps the order of `stream` on the sender's side only. With a group, its sets are pairs
  /// {from, to} of devices that send the same at the same time; the first one is simulated.
  OpId transfer(int from, int to, Phase phase, std::string_view what, Bytes size, int stream,
                int group = -1);
  /// Each takes `cost`; the loop that asks for them wakes every `period`, or whenever needed (0).
  OpId agree(Seconds cost, Seconds period);
  OpId synchronise(int group, std::string_view what, Bytes size);
  /// Those of a program are in the order of what it synchronises.
  OpId variables(int group, std::string_view what, Bytes size);
  OpId wait(int rank, Phase phase, std::string_view what, Seconds time, int stream);
  OpId join(Phase phase);

  /// `second` begins after `first` has ended; an operation that is not there changes nothing.
  void order(OpId first, OpId second);

  /// The edges, and one from each operation of a rank's stream to the next one there.
  std::vector<std::pair<int, int>> all_edges() const;

  const std::string& name_of(const Operation& op) const;
  /// Throws std::logic_error for ranks, groups, streams or edges that are not there.
  void check() const;

private:
  OpId add(Operation op, std::string_view what);
  OpId on_rank(WorkKind kind, int rank, Phase phase, std::string_view what, double amount,
               int stream);
};

} // namespace foretrain::sim
