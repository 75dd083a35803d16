// What a job's measured steps say of its rate.
#pragma once

#include "experiments/run/keep/range.hpp"
#include "experiments/run/simulate/stage.hpp"

namespace foretrain::experiments {

struct Rates {
  Range throughput; // samples per second
  Range step_time;  // s
};

/// The centre is the mean step, as frameworks tell their rate: steps of jobs that share can be of
/// two kinds, of which a median would tell only one.
Rates rates_of(const models::Job& job, double interval = 0.9);

/// Relative standard deviation of the mean step over the measured ones.
double run_to_run(const models::Job& job);

} // namespace foretrain::experiments
