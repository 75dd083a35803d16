// The main job: an experiment file in, its predictions out.
#pragma once

#include "experiments/experiment.hpp"
#include "experiments/result.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace foretrain::experiments {

struct PredictOptions {
  std::uint64_t seed = 1;
  models::Fidelity fidelity = models::Fidelity::coupled;
  int jobs = 1;          // processes at a time
  std::string directory; // where points.jsonl and traces go; empty: nowhere
  bool trace = false;    // a timeline per point, in the directory
  UncertaintyOptions uncertainty{};
  std::function<void(const std::string&)> steps{}; // told of each step where there is one point
  /// The result of a point (by its place) that need not be run again, if there is one.
  std::function<std::optional<Json>(std::size_t)> known{};
  /// Told of each point that was run, as soon as it is finished.
  std::function<void(std::size_t, const Json&)> finished{};
};

/// How each of `points` points is run.
RunOptions run_options(const PredictOptions& options, std::size_t points);

struct Prediction {
  Json result;    // the object of the public contract; points in the order of the sweep
  int status = 0; // exit code: 0, 1 an expectation failed, 2, 3
  std::vector<std::string> errors;       // messages of points that failed
  std::vector<std::string> expectations; // expectations that do not hold
};

/// `progress(done, total)` is called after each point. Points that fail carry "error" instead of
/// "jobs"; an interrupted run returns the points that are there, with "interrupted": true.
Prediction predict(const LoadedExperiment& experiment, const PredictOptions& options,
                   const std::function<void(int, int)>& progress);

/// One line for each expectation of the experiment that the result violates, or that is about no
/// point of it, unless --set `narrowed` the experiment.
std::vector<std::string> violated_expectations(const ExperimentSpec& spec, const Json& result,
                                               bool narrowed);

} // namespace foretrain::experiments
