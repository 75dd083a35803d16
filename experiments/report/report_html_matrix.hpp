// Stacks against models: what each combination reaches of the best one of its model.
#pragma once

#include "experiments/report/report_html_rows.hpp"

namespace foretrain::experiments {

/// A table with a column for each model and a line for everything else that varies but the number
/// of GPUs, in percent of the model's best at its largest number of GPUs. Empty unless there are
/// several models and several lines.
std::string matrix_section(const Report& report);

} // namespace foretrain::experiments
