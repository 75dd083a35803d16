// A comparison (docs/compare.md) as text for a terminal, and as CSV.
#pragma once

#include "experiments/answers/compare.hpp"
#include "experiments/report/report_table.hpp"

namespace foretrain::experiments {

std::string report_compare(const CompareAnswer& answer, const TableStyle& style = {});

/// One line for each pair (RFC 4180): settings, both throughputs and step times, the ratio with its
/// interval, the probability that B is faster, parts of both steps.
std::string compare_csv(const CompareAnswer& answer);

} // namespace foretrain::experiments
