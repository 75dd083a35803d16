// The answer of a plan as text for a terminal, and as CSV.
#pragma once

#include "experiments/report_table.hpp"

namespace foretrain::experiments {

/// From the JSON of docs/plan.md: today's system, the frontier and the choice as a table, what to
/// do, and what single changes bring.
std::string report_plan(const Json& answer, const TableStyle& style = {});

/// One line for each job of each candidate (RFC 4180): the options by the changes' names, then what
/// docs/plan.md lists.
std::string plan_csv(const Json& answer);

} // namespace foretrain::experiments
