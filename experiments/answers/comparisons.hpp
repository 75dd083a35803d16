// Which point of a sweep is faster, and how sure that is.
#pragma once

#include "experiments/run/keep/result.hpp"

namespace foretrain::experiments {

/// Variance of the logarithm of the ratio of two job results' throughputs: a parameter that both
/// know by one name is off by one factor in both, and what it does to both alike cancels; what
/// profiles taught together varies as they say (nullptr: no profiles). Variation from run to run
/// is each result's own.
double log_ratio_variance(const JobResult& a, const JobResult& b, const Profiles* profiles);

/// What guests add to it where `slower` is slower than expected, or `other` faster; 0 where both
/// results are of one layer of the host, whose guests are alike. Null: a number, which has no
/// guest.
double guest_variance(const JobResult* slower, const JobResult* other);

/// Probability that job result `a` is faster than `b`, by its throughput.
double probability_faster(const JobResult& a, const JobResult& b, const Profiles* profiles);

/// Probability that a normal variable with this mean and variance is above zero.
double probability_above(double mean, double variance);

/// For each job: the best point against the others that come nearest, each with the probability
/// that the best is faster. What two points share (the same GPU, off by the same factor) does not
/// count against their order. Points whose models differ are not compared. Points are in the order
/// of the sweep; those that an interrupted run has not reached hold nothing.
std::vector<PointComparison> compare_points(const std::vector<std::optional<PointResult>>& points,
                                            const LoadedExperiment& experiment);

} // namespace foretrain::experiments
