// A plan's answer as the first page of its report.
#pragma once

#include "experiments/answers/plan_answer.hpp"

#include <string>

namespace foretrain::experiments {

/// What to do, goals, cost, throughput over cost, the frontier, and
/// what each single change brings.
std::string plan_html(const PlanAnswer& answer);

} // namespace foretrain::experiments
