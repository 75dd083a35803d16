// What claims ask of a point, and what causes of error do to it.
#pragma once

#include "experiments/run/keep/result.hpp"
#include "experiments/validate/linear_number.hpp"

#include <set>
#include <string>

namespace foretrain::experiments {

/// A quantity of a job of a point.
struct Asked {
  int job = 0;
  std::string pointer; // below the job's results, or the point's
  auto operator<=>(const Asked&) const = default;
};

/// The results of the point, with "peer_copies" where that is asked. What parameters do to them is
/// not asked: ranges are those of steps. Throws ConfigError.
Json claim_result(const Point& point, const std::set<Asked>& asked, RunOptions options);

/// The result with what parameters do to it, from short runs: to throughput by "linear" uncertainty
/// (docs/results.md), and as "effects" to quantities whose changes do not follow from those of
/// throughput, where each parameter is shifted in a run of its own.
Json with_effects(Json result, const Point& point, const std::set<Asked>& asked,
                  RunOptions options);

/// The value of a quantity; null where there is none.
const Json& asked_value(const Json& result, const Asked& asked);

/// A number of a result. `name` tells its point from others: runs of two points vary by themselves.
LinearNumber linear_number(const Json& result, const Asked& asked, const std::string& name);

} // namespace foretrain::experiments
