// Suites unrolled: every measurement as one line, and the runs that predict them.
#pragma once

#include "experiments/answers/predict.hpp"
#include "experiments/validate/suite_runs.hpp"
#include "sim/base/choice.hpp"

#include <string>
#include <vector>

namespace foretrain::experiments {

/// What a row is for. All but validation rows are shown, never counted.
enum class RowRole { validation, calibration, disturbed }; // disturbed: contradicts its table
constexpr auto choices(RowRole)
{
  return std::to_array<Choice<RowRole>>({{RowRole::validation, "validation"},
                                         {RowRole::calibration, "calibration"},
                                         {RowRole::disturbed, "disturbed"}});
}

/// One measured number; values in SI.
struct Measurement {
  std::size_t suite = 0; // index into the plan's suites
  std::string id;
  std::string part;
  std::string regime;
  std::string unit;
  RowRole role = RowRole::validation;
  double measured = 0;
  double spread = 0; // standard deviation
  std::string group;
  std::string ratio_of;
  std::string anchor;
  double anchor_rate = 0; // of its job; 0: none
  std::string source;
  std::size_t run = 0; // which run predicts it
  std::string pointer; // to the number or range in what that run returns
  double to_si = 1;    // of the number there
};

struct SuitePlan {
  std::vector<SuiteSpec> suites;
  std::vector<Measurement> measurements;
  std::vector<SuiteRun> runs;
};

/// Reads all experiments of the suites and checks rows against each other and against the record of
/// fits (calibration/data/fits.json): a measurement that a fit or an anchor has used can't be
/// counted. `only`: ids to keep ('*' stands for any text; empty: all). `profiles` lie over those of
/// the experiments. Throws ConfigError and UsageError.
SuitePlan plan_suites(std::vector<SuiteSpec> suites, const std::string& only,
                      const std::vector<std::string>& profiles = {});

} // namespace foretrain::experiments
