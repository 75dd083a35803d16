// When nodes fail and are repaired: by laws, or as a trace says.
#pragma once

#include "models/fleet/gpu_set.hpp"
#include "sim/base/choice.hpp"
#include "sim/base/units.hpp"
#include "sim/engine/random.hpp"

#include <functional>
#include <optional>
#include <queue>
#include <vector>

namespace foretrain::models::fleet {

/// What an outage takes.
enum class Hits : std::uint8_t { nodes, gpu, storage };

/// Nodes first, first + 1, ... are down from `time` until `repaired`; or one GPU of the first; or
/// the storage that all jobs share.
struct Outage {
  Seconds time;
  int first = 0;
  int nodes = 1;
  Seconds repaired;
  Hits hits = Hits::nodes;
  int gpu = 0;
  bool drained = false; // a node that is found faulty in time: the repair waits for its jobs
};

/// Outages in order of time, as long as there are any.
using OutageSource = std::function<std::optional<Outage>()>;
OutageSource outages_of(std::vector<Outage> trace);

enum class FailureLaw { exponential, weibull };
constexpr auto choices(FailureLaw)
{
  return std::to_array<Choice<FailureLaw>>(
      {{FailureLaw::exponential, "exponential"}, {FailureLaw::weibull, "weibull"}});
}

/// Repairs are log-normal: median and mean say both parameters,
///   mu = ln median, sigma^2 = 2 ln(mean / median).
struct RepairLaw {
  Seconds median{};
  Seconds mean{}; // at least the median
  Seconds draw(sim::RandomStream& stream) const;
};

/// A class of things that fail: a node's own parts, a switch with all nodes below it, one GPU, or
/// the storage.
struct FailureClass {
  Seconds mean_time{}; // between failures of one of them
  FailureLaw law = FailureLaw::exponential;
  double shape = 1; // of Weibull's law; below 1: failures come in clusters
  RepairLaw repair{};
  int nodes_each = 1; // that go down together, where nodes do
  Hits hits = Hits::nodes;
  /// Share of the things, by number from the first, that have `lemon_share` of the failures.
  double lemons = 0;
  double lemon_share = 0;
  /// Share that a check of a node finds before a job fails.
  double drained = 0;
};

/// Time from a repair to the next failure.
Seconds draw_gap(const FailureClass& failures, double mean_scale, sim::RandomStream& stream);
/// Time from a moment at which the thing has run for long to its next failure, so that the rate is
/// the mean one from the start: the forward recurrence time of a renewal process, whose density is
/// the share of gaps that are longer over their mean (Cox, Renewal Theory, 1962). With Weibull's
/// law (x / scale)^shape has a gamma distribution of shape 1 / shape.
Seconds draw_first_gap(const FailureClass& failures, double mean_scale, sim::RandomStream& stream);

/// Of a cluster, each thing with a random stream of its own.
OutageSource draw_outages(const std::vector<FailureClass>& classes, const ClusterShape& shape,
                          std::uint64_t seed);

} // namespace foretrain::models::fleet
