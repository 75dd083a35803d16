// The answer of a plan as text for a terminal.
#pragma once

#include "experiments/report_table.hpp"

namespace foretrain::experiments {

/// From the JSON of docs/plan.md: today's system, the frontier and the choice as a table, what to
/// do, and what single changes bring.
std::string report_plan(const Json& answer, const TableStyle& style = {});

} // namespace foretrain::experiments
