// Which point of a sweep is faster, and how sure that is.
#pragma once

#include "experiments/run/keep/result.hpp"

namespace foretrain::experiments {

/// Of the ratio of two job results' throughputs, a's over b's: a parameter that both know by one
/// name is off by one factor in both, and what it does to both alike cancels; what profiles taught
/// together varies as they say (nullptr: no profiles). Variation from run to run is each result's
/// own, and so are guests, but where both are of one layer of the host.
Deviations deviations_of_ratio(const JobResult& a, const JobResult& b, const Profiles* profiles);

/// Of one job result's throughput.
Deviations deviations_of_rate(const JobResult& job);

/// Probability that job result `a` is faster than `b`, by its throughput.
double probability_faster(const JobResult& a, const JobResult& b, const Profiles* profiles);

/// Probability that a variable is above zero whose median is this, and which is normal on each side
/// of it.
double probability_above(double median, const Deviations& deviations);

/// For each job: the best point against the others that come nearest, each with the probability
/// that the best is faster. What two points share (the same GPU, off by the same factor) does not
/// count against their order. Points whose models differ are not compared. Points are in the order
/// of the sweep; those that an interrupted run has not reached hold nothing.
std::vector<PointComparison> compare_points(const std::vector<std::optional<PointResult>>& points,
                                            const LoadedExperiment& experiment);

} // namespace foretrain::experiments
