// A result as one web page that needs nothing but a browser: no network, no other file.
#pragma once

#include "experiments/run/keep/result.hpp"

#include <string>

namespace foretrain::experiments {

/// `decision`: HTML that it begins with instead of the prediction's own answers (a plan's).
std::string report_html(const ExperimentResult& result, const std::string& decision = "");

} // namespace foretrain::experiments
