// When jobs come, and which, where they are drawn.
#pragma once

#include "models/fleet/job.hpp"
#include "sim/base/choice.hpp"
#include "sim/engine/random.hpp"

#include <vector>

namespace foretrain::models::fleet {

enum class ArrivalProcess { poisson, even };
constexpr auto choices(ArrivalProcess)
{
  return std::to_array<Choice<ArrivalProcess>>(
      {{ArrivalProcess::poisson, "poisson"}, {ArrivalProcess::even, "even"}});
}

enum class RunTimeLaw { fixed, exponential, log_normal };
constexpr auto choices(RunTimeLaw)
{
  return std::to_array<Choice<RunTimeLaw>>({{RunTimeLaw::fixed, "fixed"},
                                            {RunTimeLaw::exponential, "exponential"},
                                            {RunTimeLaw::log_normal, "log-normal"}});
}

/// A kind of job that comes with its share of all.
struct ArrivalKind {
  double share = 1;
  Job job; // its work is the mean
  RunTimeLaw law = RunTimeLaw::fixed;
  double spread = 1; // coefficient of variation of the log-normal law
};

struct Arrivals {
  ArrivalProcess process = ArrivalProcess::poisson;
  double per_second = 0;
  double burst = 1;                        // mean number of jobs that come at once (geometric)
  std::vector<double> by_hour, by_weekday; // relative rates, 24 and 7; none: all alike
  Seconds until{};
  std::vector<ArrivalKind> kinds;
};

/// Jobs from 0 on, in their order; ids are numbers.
std::vector<Job> draw_jobs(const Arrivals& arrivals, std::uint64_t seed);

/// Puts jobs that come at the same time in an order in which all are as likely: replays of traces
/// depend on it.
void shuffle_ties(std::vector<Job>& jobs, std::uint64_t seed);

} // namespace foretrain::models::fleet
