// An answer that a command printed as JSON, in the other forms that the command could have printed.
#pragma once

#include "experiments/run/keep/result.hpp"
#include "sim/base/json.hpp"

#include <optional>
#include <string>

namespace foretrain::cli {

/// Whether the path is that of an answer (or - for standard input) instead of a result store.
bool is_answer(const std::string& path);

/// Reads what predict, sweep, explain, compare, plan or fleet printed with --format json. Throws
/// ConfigError where it is none of these.
Json read_answer(const std::string& path);

/// `format`: table, json, csv or html. Throws UsageError where its command has no such form.
std::string answer_text(const Json& answer, const std::string& format, bool colour);

/// Of which --out can write report.html, result.json and result.csv: of predict and sweep.
std::optional<experiments::ExperimentResult> prediction_in(const Json& answer);

} // namespace foretrain::cli
