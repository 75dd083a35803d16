// In which settings two points differ, and what each of them does alone.
#pragma once

#include "experiments/answers/compare_sides.hpp"
#include "experiments/run/keep/result.hpp"

namespace foretrain::experiments {

/// [{ pointer, a, b }]: null where one side says nothing. What experiments are called and expect
/// does not count.
Json differing_settings(const ComparedPoint& a, const ComparedPoint& b);

/// The same with "ratio": throughput of job `job` of A with this setting alone as in B, over that
/// of A; the largest effect first. Left out: settings that do not work without the others.
Json settings_alone(const ComparedPoint& a, const Json& differing, std::size_t job);

} // namespace foretrain::experiments
