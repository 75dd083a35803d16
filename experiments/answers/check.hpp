// Experiments as tests: their expectations, and how far they are from a stored baseline.
#pragma once

#include "experiments/answers/expectations.hpp"
#include "experiments/answers/predict.hpp"

#include <optional>
#include <string>
#include <vector>

namespace foretrain::experiments {

enum class CheckState { passed, undecided, failed, error };

struct CheckCase {
  std::string name; // "/expect/0: /speedup of job 'train' at {...}"
  CheckState state = CheckState::passed;
  std::string message; // why, when it has not passed
  std::string line;    // of the file, "" when none is to blame
};

/// What was checked about one file.
struct CheckedFile {
  std::string file;
  std::string experiment;
  std::vector<CheckCase> cases;
  double seconds = 0; // that it took
};

struct CheckOptions {
  double confidence = 0.9;               // with which something must be violated to fail
  double tolerance = 0.05;               // of a baseline's throughput that may be lost
  bool strict = false;                   // what nobody can tell fails, too
  std::optional<std::string> baseline{}; // directory
};

/// The files to check: those given, and every experiment and fleet below the given directories.
/// Other files below directories are left out. Throws UsageError for a path that is not
/// there.
std::vector<std::string> experiments_below(const std::vector<std::string>& paths);

/// Where a baseline keeps an experiment's result.
std::string baseline_file(const std::string& directory, const std::string& experiment);

/// What an expectation's judgement comes to, and where it stands in the file.
CheckCase case_of(const JudgedExpectation& it, const Document& document,
                  const CheckOptions& options);

/// Cases of one experiment and its prediction.
std::vector<CheckCase> check(const LoadedExperiment& experiment, const Prediction& prediction,
                             const CheckOptions& options);

/// "passed", "undecided", "failed", "error".
const char* state_name(CheckState state);

/// { files: [{ file, experiment, seconds, cases: [{ name, state, message, line }] }], passed,
/// undecided, failed, errors }
Json check_json(const std::vector<CheckedFile>& files);

} // namespace foretrain::experiments
