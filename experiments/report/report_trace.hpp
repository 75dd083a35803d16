// `foretrain trace show` and `trace diff`: recorded steps as text, JSON and HTML.
#pragma once

#include "experiments/run/simulate/trace_prediction.hpp"
#include "models/traces/trace_summary.hpp"
#include "sim/base/document.hpp"

#include <string>

namespace foretrain::experiments {

/// With a prediction each collective has the platform's time and bus bandwidth beside its own.
std::string trace_text(const models::TraceSummary& trace, const TracePrediction* there = nullptr);
Json trace_json(const models::TraceSummary& trace, const TracePrediction* there = nullptr);
std::string trace_html(const models::TraceSummary& trace, const TracePrediction* there = nullptr);

/// Two recordings, or a recording and a prediction (predict --trace), side by side: parts of a step
/// and the kernels whose times differ the most.
std::string trace_diff_text(const models::TraceSummary& a, const models::TraceSummary& b);
Json trace_diff_json(const models::TraceSummary& a, const models::TraceSummary& b);

} // namespace foretrain::experiments
