// Rings. All-reduce: n-1 reduce-scatter steps, then n-1 all-gather steps.
//
// In every step each rank sends one n-th of its buffer to its right neighbour. Every hop of the
// ring thus carries 2 (n - 1) / n bytes per byte of the buffer, and on equal full-duplex links
//
//   T(n, m) = 2 (n - 1) (latency + m / (n * bandwidth))
//
// Several channels carry a share of the buffer each. Patarasuk and Yuan, "Bandwidth optimal
// all-reduce algorithms for clusters of workstations", JPDC 2009.
#include "models/collectives/ring.hpp"

namespace foretrain::models {

bool ring_applies(const sim::Communicator& comm)
{
  return !comm.channels.empty();
}

namespace {

// Every chunk passes `hops` hops; each hop carries `bytes` per byte of the buffer, but those to
// rank `without`.
void add_round(Pattern& pattern, const sim::Communicator& comm, double hops, double bytes,
               int without = -1)
{
  for (const sim::Channel& channel : comm.channels)
    for (const sim::Hop& hop : channel.hops)
      if (hop.to != without)
        pattern.loads.add(hop, bytes * channel.share);
  pattern.own = 1.0 / comm.ranks;
  // All channels run at the same time; their rings have the same mix of hops.
  for (const sim::Hop& hop : comm.channels.front().hops)
    pattern.steps.add(hop, hops / comm.ranks);
}

} // namespace

void ring_all_reduce(const sim::Communicator& comm, Pattern& pattern)
{
  const double n = comm.ranks;
  add_round(pattern, comm, 2 * (n - 1), 2 * (n - 1) / n);
}

// All-gather and reduce-scatter: one of the two halves.
void ring_one_round(const sim::Communicator& comm, Pattern& pattern)
{
  const double n = comm.ranks;
  add_round(pattern, comm, n - 1, (n - 1) / n);
}

// The buffer flows in small pieces from the root to the last rank: all hops but the one back.
void ring_broadcast(const sim::Communicator& comm, Pattern& pattern)
{
  const int root = 0;
  add_round(pattern, comm, comm.ranks - 1, 1, root);
  pattern.own = 0; // pieces are small beside the buffer
}

sim::TaskId ring_all_reduce_chunks(const sim::Communicator& comm, const ChunkSchedule& s)
{
  const auto n = static_cast<std::size_t>(comm.ranks);
  const sim::TaskId all_done = s.graph.add_join("all-reduce", s.index);
  for (const sim::Channel& channel : comm.channels) {
    const double piece = s.size * channel.share / static_cast<double>(n);
    std::vector<sim::PathPtr> paths;
    for (const sim::Hop& hop : channel.hops)
      paths.push_back(s.path({hop, piece * static_cast<double>(2 * (n - 1)) / s.size}));
    std::vector<sim::TaskId> received(n, s.begin); // by position on the ring
    std::vector<sim::TaskId> sent(n);              // a connection delivers in order
    for (std::size_t step = 0; step < 2 * (n - 1); ++step) {
      std::vector<sim::TaskId> arriving(n);
      for (std::size_t i = 0; i < n; ++i) {
        const sim::TaskId wait =
            s.graph.add_delay("ring step latency", s.index, s.step_latency(channel.hops[i]));
        const sim::TaskId send = s.graph.add_flow("ring step", s.index, paths[i], piece);
        s.graph.add_edge(received[i], wait);
        s.graph.add_edge(wait, send);
        if (sent[i])
          s.graph.add_edge(sent[i], send);
        sent[i] = send;
        arriving[(i + 1) % n] = send;
      }
      received = std::move(arriving);
    }
    s.graph.add_edges(received, all_done);
  }
  return all_done;
}

} // namespace foretrain::models
