// The answer of a plan as text for a terminal, and as CSV.
#pragma once

#include "experiments/report/report_table.hpp"

#include <vector>

namespace foretrain::experiments {

/// From the JSON of docs/plan.md: today's system, the frontier and the choice as a table, what to
/// do, and what single changes bring.
std::string report_plan(const Json& answer, const TableStyle& style = {});

/// What to do, in sentences, and what each single change brings, likewise.
std::vector<std::string> plan_sentences(const Json& answer);
std::vector<std::string> plan_changes(const Json& answer);

/// One line for each job of each candidate (RFC 4180): the options by the changes' names, then what
/// docs/plan.md lists.
std::string plan_csv(const Json& answer);

} // namespace foretrain::experiments
