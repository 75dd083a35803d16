// The HTML report's drawings of a large model: what fills a GPU's memory, and the pipeline.
#pragma once

#include "experiments/report/report_html_rows.hpp"

namespace foretrain::experiments {

/// A bar of device memory per point whose parts are known; empty if none are.
std::string memory_section(const Report& report);

/// When each stage does what, of the first points with a pipeline; empty if there is none.
std::string pipeline_section(const Report& report);

} // namespace foretrain::experiments
