// What a library of NCCL's kind expects of each algorithm and protocol, and so which it takes:
// its own model of latencies and bandwidths over the graphs that it found, by version.
// NCCL source, src/graph/tuning.cc.
#pragma once

#include "models/collectives/pattern.hpp"

#include <optional>

namespace foretrain::models {

/// Latency and bandwidth of the buffer that the library's model has for an algorithm and protocol.
struct Expectation {
  double latency = 0;   // seconds
  double bandwidth = 0; // bytes of the buffer per second
};

/// Nothing when the library does not consider the algorithm or protocol on this communicator. For
/// versions from 2.5 on.
std::optional<Expectation> expectation(int version, const sim::Communicator& comm,
                                       Operation operation, Family family, ProtocolKind protocol);

/// Bytes per second that a channel of Simple carries inside a node by the library's table
/// (perChMaxTreeBws).
double channel_rate(int version, const sim::Communicator& comm);

/// Bytes of the buffer per second that the GPUs' own work on a tree's channels allows inside one
/// node; 0: no limit. Between nodes the library's table holds what adapters gave, no limit of GPUs.
double tree_limit(int version, const sim::Communicator& comm);

/// What is left of a tree's bandwidth at medium sizes (treeCorrectionFactor), 0 to 1.
double tree_share(ProtocolKind protocol, double size);

/// By which a ring's latency between nodes grows once every rank sends more than a little in each
/// step ("plateau effect").
double ring_plateau(const sim::Communicator& comm, ProtocolKind protocol, double size);

} // namespace foretrain::models
