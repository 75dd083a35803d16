// A plan's answer as the first page of its report.
#pragma once

#include "sim/base/document.hpp"

#include <string>

namespace foretrain::experiments {

/// From the JSON of docs/plan.md: what to do, goals, cost, throughput over cost, the frontier, and
/// what each single change brings.
std::string plan_html(const Json& answer);

} // namespace foretrain::experiments
