#include "models/collectives/choice.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace foretrain::models {

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

bool over_nvlink(const sim::Communicator& comm)
{
  return std::all_of(comm.channels.begin(), comm.channels.end(), [](const sim::Channel& channel) {
    return std::all_of(channel.hops.begin(), channel.hops.end(),
                       [](const sim::Hop& hop) { return hop.reach != sim::Reach::pcie; });
  });
}

int log2_of(double x)
{
  return x < 1 ? 0 : static_cast<int>(std::bit_width(static_cast<std::uint64_t>(x))) - 1;
}

// Bytes below which NCCL 2.4 takes trees. Its constants, in microseconds and bytes per microsecond.
double tree_threshold(const sim::Communicator& comm)
{
  const bool nvlink = over_nvlink(comm);
  const double channels = static_cast<double>(comm.channels.size());
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

// What is left of a tree's bandwidth at medium sizes, from 64 bytes on by powers of two.
constexpr int kSizes = 23;
constexpr double kTreeShare[3][kSizes] = {
    {1.0, 1.0, 1.0, 1.0, .9, .8, .7, .7,  .7,  .7,  .6, .5,
     .4,  .4,  .5,  .6,  .7, .8, .9, 1.0, 1.0, 1.0, 1.0},
    {1.0, 1.0, 1.0, 1.0, 1.0, .9, .8, .8, .8, .7,  .6, .6,
     .6,  .5,  .6,  .6,  .7,  .7, .8, .9, .9, .92, .92},
    {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9}};

double tree_rate(const sim::Communicator& comm, const Offer& offer, double size)
{
  const std::string& protocol = offer.protocol->name;
  const bool ll = protocol == "LL";
  const bool ll128 = protocol == "LL128";
  const double share = ll ? 1 / 3.8 : ll128 ? (comm.nodes == 1 ? 7.0 / 9 : 0.915) : 1.0;
  const int step = log2_of(size / 64);
  const double left = step < kSizes ? kTreeShare[ll ? 0 : ll128 ? 1 : 2][step] : 1.0;
  return 0.5 * 0.92 * offer.ring_bus * share * left;
}

} // namespace

double expected_time(const Library& library, const sim::Communicator& comm, const Offer& offer,
                     double size)
{
  const double idle = offer.latency.value() + size / offer.rate;
  if (library.estimate == "nccl-2.4" && comm.nodes > 1) {
    const bool small = size < tree_threshold(comm);
    return (offer.family == Family::tree) == small ? idle : kNever;
  }
  if (library.estimate == "nccl-2.5" && offer.family == Family::tree && offer.ring_bus > 0)
    return offer.latency.value() + size / tree_rate(comm, offer, size);
  return idle;
}

} // namespace foretrain::models
