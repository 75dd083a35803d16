// How the steps of jobs that share something fall beside each other.
//
// Jobs whose steps are alike fall into step or out of it, and then meet on a link in each step or
// in none (Rajasekaran et al., "CASSINI: Network-Aware Job Scheduling in Machine Learning
// Clusters", NSDI 2024). Where in a step of the others a job starts is chance: of several runs with
// starts at random the one is told in which jobs run as they typically do, and how far the others
// are from it.
#pragma once

#include "experiments/run/keep/range.hpp"
#include "sim/base/units.hpp"

#include <cstdint>
#include <vector>

namespace foretrain::experiments {

/// How much later than asked each job starts in the given run: uniform within a step of its own,
/// `steps[job]` long.
std::vector<Seconds> random_phases(const std::vector<Seconds>& steps, std::uint64_t seed, int run);

/// The run whose jobs are the nearest to their medians over all runs. rates[run][job] > 0.
std::size_t typical_run(const std::vector<std::vector<double>>& rates);

} // namespace foretrain::experiments
