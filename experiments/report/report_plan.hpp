// The answer of a plan as text for a terminal, and as CSV.
#pragma once

#include "experiments/answers/plan_answer.hpp"
#include "experiments/report/report_table.hpp"

#include <vector>

namespace foretrain::experiments {

/// Today's system, the frontier and the choice as a table, what to
/// do, and what single changes bring.
std::string report_plan(const PlanAnswer& answer, const TableStyle& style = {});

/// A cost with the plan's currency.
std::string plan_money(const PlanAnswer& answer, double cost);

/// What to do, in sentences, and what each single change brings, likewise.
std::vector<std::string> plan_sentences(const PlanAnswer& answer);
std::vector<std::string> plan_changes(const PlanAnswer& answer);

/// One line for each job of each candidate (RFC 4180): the options by the changes' names, then what
/// docs/plan.md lists.
std::string plan_csv(const PlanAnswer& answer);

} // namespace foretrain::experiments
