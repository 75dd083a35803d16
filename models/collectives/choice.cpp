#include "models/collectives/choice.hpp"

#include "models/collectives/blocks.hpp"
#include "models/collectives/tuning.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace foretrain::models {

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kOtherwise = std::numeric_limits<double>::max(); // where nothing else is there

int log2_of(double x)
{
  return x < 1 ? 0 : static_cast<int>(std::bit_width(static_cast<std::uint64_t>(x))) - 1;
}

// Bytes below which NCCL 2.4 takes trees. Its constants, in microseconds and bytes per microsecond.
double tree_threshold(const sim::Communicator& comm)
{
  const bool nvlink = comm.ring_graph.nvlink;
  const double channels = comm.ring_graph.channels;
  const double ring_rate = nvlink ? 5000 * channels : 5000;
  double tree_rate = ring_rate * (nvlink ? 3.0 / 4 : 2.0 / 3);
  if (nvlink && comm.nodes == 2)
    tree_rate *= 2;
  const double ring_latency = 6.0 * (comm.ranks - 1);
  const int local = comm.ranks / comm.nodes;
  const double tree_latency = 15.0 * log2_of(comm.nodes) + 4.0 * (local - 1);
  if (comm.nodes < 2 || ring_latency <= tree_latency)
    return 0;
  if (tree_rate > ring_rate)
    return kNever;
  return ring_rate * tree_rate / (ring_rate - tree_rate) * (ring_latency - tree_latency);
}

} // namespace

double expected_time(const Library& library, const sim::Communicator& comm, const Offer& offer,
                     Operation operation, double size)
{
  const double idle = offer.latency.value() + size / offer.rate;
  if (library.estimate == Estimate::nccl_2_4 && comm.nodes > 1 &&
      operation == Operation::all_reduce) {
    const bool small = size < tree_threshold(comm);
    return (offer.family == Family::tree) == small ? idle : kNever;
  }
  if (library.estimate != Estimate::nccl_2_5 || comm.ring_graph.channels < 1)
    return idle;
  const ProtocolKind protocol = offer.protocol->kind();
  if (sends(operation)) {
    const bool by_ll = send_by_ll(library.version, comm, bytes_to_one(comm, operation, size));
    if (protocol == ProtocolKind::simple)
      return by_ll ? kOtherwise : idle;
    return protocol == ProtocolKind::ll && by_ll ? idle : kNever;
  }
  const auto expected = expectation(library.version, comm, operation, offer.family, protocol);
  if (!expected)
    return kNever;
  double latency = expected->latency;
  double bandwidth = expected->bandwidth;
  if (offer.family == Family::tree)
    bandwidth *= tree_share(protocol, size);
  if (offer.family == Family::ring && operation == Operation::all_reduce)
    latency *= ring_plateau(comm, protocol, size);
  return latency + size / bandwidth;
}

} // namespace foretrain::models
