// What an algorithm makes of a communicator: how many bytes cross each hop, and how many hops
// follow each other in time. Algorithms know ranks and hops, no links.
#pragma once

#include "models/collectives/library.hpp"
#include "models/collectives/loads.hpp"
#include "sim/engine/communicator.hpp"
#include "sim/engine/task_graph.hpp"

#include <functional>
#include <vector>

namespace foretrain::models {

/// Hops that follow each other between the start of a call and its end. Counts may be fractions:
/// in a ring every chunk starts elsewhere.
struct LatencySteps {
  double nvlink = 0;
  double pcie = 0;
  double network = 0;
  double doublings = 0; // of ranks that all send to each other, from one on
  Seconds transport;    // the hops' own latencies, added up
  Seconds rendezvous;   // more of that for messages beyond `eager`
  Bytes eager{};
  Seconds handling; // of one message between nodes, beside its bytes

  void add(const sim::Hop& hop, double times)
  {
    (hop.reach == sim::Reach::nvlink ? nvlink
     : hop.reach == sim::Reach::pcie ? pcie
                                     : network) += times;
    transport += times * hop.latency;
    rendezvous += times * hop.rendezvous;
    if (hop.rendezvous.value() > 0)
      eager = hop.eager;
    handling = std::max(handling, hop.handling);
  }
};

/// Which latencies of the library apply.
enum class Family { ring, tree, in_switch };

struct Pattern {
  Family family = Family::ring;
  Loads loads;
  LatencySteps steps;
  /// Of each byte of the buffer, what a rank's blocks move within its GPU before or after the hops:
  /// the first piece of a ring's round is copied, the last one only received.
  double own = 0;
  bool to_itself = false; // own is what ranks that send to each other send to themselves
  int heads = 1;          // of a tree: GPUs of a node at which its channels meet the adapters
};

/// Turns loads into paths: the path for one payload byte over a hop that carries so many bytes per
/// byte of the buffer in the whole call.
using MakePath = std::function<sim::PathPtr(const Load&)>;

/// Everything a chunk-level schedule needs.
struct ChunkSchedule {
  sim::TaskGraph& graph;
  sim::TaskId begin;
  double size;   // bytes on each rank
  int index;     // label of the tasks
  MakePath path; // with the protocol's overhead and limits
  std::function<Seconds(const sim::Hop&)> step_latency;
};

enum class Operation {
  all_reduce,
  all_gather,
  reduce_scatter,
  broadcast,
  all_to_all,
  send_receive, // every rank to the next
};

/// Whether ranks send to each other in pairs.
constexpr bool sends(Operation operation)
{
  return operation == Operation::all_to_all || operation == Operation::send_receive;
}

/// Sizes are those of nccl-tests: bytes of the buffer on each rank; for all-gather and
/// reduce-scatter the bytes of all ranks together.
struct Algorithm {
  Operation operation;
  const char* name;
  const char* summary;
  bool (*applies)(const sim::Communicator&);
  void (*add_pattern)(const sim::Communicator&, Pattern&);
  /// Adds every step of every chunk; returns the task that ends when all ranks are done. Null when
  /// the algorithm has no chunk-level form here.
  sim::TaskId (*chunks)(const sim::Communicator&, const ChunkSchedule&);
};

} // namespace foretrain::models
