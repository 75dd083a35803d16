// What a call takes beside the bytes that flow.
#include "models/collectives/blocks.hpp"
#include "models/collectives/collective.hpp"
#include "models/collectives/tuning.hpp"

#include <algorithm>
#include <cmath>

namespace foretrain::models {

double Collective::inside_factor(const Protocol& protocol) const
{
  return comm_.nodes > 1 ? protocol.inside_factor : 1.0;
}

// What messages wait for that are too long to be sent at once.
Seconds Collective::rendezvous(const Candidate& candidate, Bytes size) const
{
  const Pattern& pattern = patterns_[candidate.pattern];
  const double message = message_bytes(library_.version, comm_, candidate.algorithm->operation,
                                       pattern.family, size.value());
  return message > pattern.steps.eager.value() ? pattern.steps.rendezvous : Seconds{};
}

Seconds Collective::latency_of(const Candidate& candidate, Bytes size) const
{
  return call_time_ * (call_latency(candidate, size) + rendezvous(candidate, size));
}

// Trees and rings of NCCL lose time by size as its own model has it, whatever moves the bytes.
Seconds Collective::call_latency(const Candidate& candidate, Bytes size) const
{
  const Family family = patterns_[candidate.pattern].family;
  const Operation operation = candidate.algorithm->operation;
  if (family == Family::in_switch)
    return candidate.latency + switch_pipeline(candidate, size);
  if (library_.estimate != Estimate::nccl_2_5)
    return candidate.latency;
  const ProtocolKind protocol = candidate.protocol->kind();
  if (sends(operation))
    return candidate.latency + cut_send(candidate, size);
  const Seconds latency = candidate.latency + filled(candidate, size);
  if (family == Family::ring && protocol != ProtocolKind::simple)
    return latency + few_channels(candidate, size);
  if (operation != Operation::all_reduce)
    return latency;
  if (family == Family::tree && protocol == ProtocolKind::simple)
    return latency + tree_pipeline(candidate, size);
  if (family == Family::tree) // its pipeline runs half empty at medium sizes
    return latency +
           Seconds(size.value() / candidate.rate * (1 / tree_share(protocol, size.value()) - 1));
  return ring_plateau(comm_, protocol, size.value()) * latency;
}

// Blocks with all their threads start and meet later.
Seconds Collective::filled(const Candidate& candidate, Bytes size) const
{
  if (!full_blocks(comm_, patterns_[candidate.pattern].family, size.value()))
    return Seconds(0);
  return (1 + std::log2(comm_.ranks)) * candidate.protocol->filled;
}

// A block of Simple hands a chunk on when it has it whole: the first one of a channel passes all
// steps of the tree, up and down, and each of the others arrives when the slowest stage has dealt
// with it, which may be the links, a block, or the adapter's operations of all channels at its GPU.
Seconds Collective::tree_pipeline(const Candidate& candidate, Bytes size) const
{
  const Pattern& pattern = patterns_[candidate.pattern];
  const LatencySteps& steps = pattern.steps;
  const TreeChunks chunks = tree_chunks(library_.version, comm_, size.value());
  const Bytes chunk(chunks.bytes);
  const double channels = tree_channels(comm_);
  const Seconds links = chunk / BytesPerSecond(candidate.rate / channels);
  const HopLatency& hop = candidate.protocol->tree_hop;
  const Seconds step = steps.nvlink > 0 ? hop.nvlink : hop.pcie;
  const Seconds copy = tree_copy(library_.version, comm_, step, chunks.bytes);
  const double messages = channels / pattern.heads * 2 * (comm_.nodes - 1) / comm_.nodes;
  const Seconds adapter = messages * steps.handling;
  const Seconds slowest = std::max({links, step + copy, adapter});
  return std::max(Seconds(0), steps.nvlink * copy + (steps.pcie + steps.network - 1) * links) +
         (chunks.count - 1) * (slowest - links);
}

// A switch that adds works in rounds of three stages: buffers are copied in, reduced with their sum
// handed out, copied out. Two stages more pass before the last bytes are out, and
// each round after the first begins with an exchange of flags.
Seconds Collective::switch_pipeline(const Candidate& candidate, Bytes size) const
{
  const double round = round_of_switch(comm_, size.value());
  return Seconds(2 * round / candidate.rate) +
         (std::ceil(size.value() / round) - 1) * candidate.protocol->round;
}

// How much longer sends take than their bytes on the way: in LL the threads of a block go round, in
// Simple the last chunk is copied out at the end.
Seconds Collective::cut_send(const Candidate& candidate, Bytes size) const
{
  const Operation operation = candidate.algorithm->operation;
  if (candidate.protocol->kind() == ProtocolKind::simple)
    return Bytes(last_chunk(library_.version, comm_, operation, size.value())) /
           BytesPerSecond(channel_rate(library_.version, comm_));
  const double bytes = bytes_to_one(comm_, operation, size.value());
  const Seconds rounds =
      (rounds_of_send(library_.version, comm_, bytes) - 1) * candidate.protocol->round;
  return std::max(Seconds(0), rounds - size / BytesPerSecond(candidate.rate));
}

// By how much a call is longer since it uses but some of the ring's channels, or shorter since the
// first round of blocks is in its steps.
Seconds Collective::few_channels(const Candidate& candidate, Bytes size) const
{
  const Pattern& pattern = patterns_[candidate.pattern];
  const Protocol& protocol = *candidate.protocol;
  const Operation operation = candidate.algorithm->operation;
  const double limit = limit_of(*candidate.algorithm, pattern, protocol);
  if (limit <= 0 || comm_.nodes > 1)
    return Seconds(0);
  if (by_rounds(pattern, protocol))
    return (rounds_of_ring(comm_, size.value()) - 1) * steps_of_blocks(comm_, operation) *
               protocol.round -
           size / BytesPerSecond(limit);
  const double share =
      channels_share(library_.version, comm_, operation, protocol.kind(), size.value());
  return std::max(Seconds(0),
                  Seconds(size.value() / (limit * share) - size.value() / candidate.rate));
}

} // namespace foretrain::models
