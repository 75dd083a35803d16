// The page's section about the inside of a node.
#pragma once

#include "experiments/report/report_html_rows.hpp"

#include <string>

namespace foretrain::experiments {

/// The node of each answer's best point, its links with how busy they are; empty where no point
/// tells.
std::string node_section(const Report& report);

} // namespace foretrain::experiments
