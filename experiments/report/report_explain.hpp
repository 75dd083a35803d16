// An explanation (docs/explain.md) as text for a terminal, and as a page.
#pragma once

#include "experiments/answers/explain.hpp"
#include "experiments/report/report_table.hpp"

namespace foretrain::experiments {

std::string report_explain(const Explanation& answer, const TableStyle& style = {});

/// A page that needs nothing else, with a bar for every part and lever.
std::string explain_html(const Explanation& answer);

/// "disks twice as fast: +9 %".
std::string gain_text(double gain);

} // namespace foretrain::experiments
