// The main job: an experiment file in, its predictions out.
#pragma once

#include "experiments/run/keep/result.hpp"
#include "experiments/spec/experiment.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace foretrain::experiments {

/// Where finished points are kept, if anywhere. A key says all that a point's result depends on.
struct PointKeeper {
  std::function<std::string(const Point&)>
      key_of{}; // in the process of a point; may throw ConfigError
  std::function<bool(const std::string&)> holds{}; // there too: whether it need not be run again
  std::function<std::optional<Json>(const std::string&)> find{}; // here: its result, unless damaged
  std::function<void(const std::string&, const Json&)> put{};    // here: as soon as it is finished
  std::function<void(std::size_t, const std::string&)> at{};     // here: which point has which key
  std::function<void()> idle{}; // here: nothing has been finished for a while
};

struct PredictOptions {
  std::uint64_t seed = 1;
  models::Fidelity fidelity = models::Fidelity::coupled;
  int jobs = 1;          // processes at a time
  std::string directory; // where points.jsonl and traces go; empty: nowhere
  bool trace = false;    // a timeline per point, in the directory
  UncertaintyOptions uncertainty{};
  std::function<void(const std::string&)> steps{}; // told of each step where there is one point
  PointKeeper keeper{};
  bool apart = false; // a process of its own for the point also where there is one only
};

/// How each of `points` points is run.
RunOptions run_options(const PredictOptions& options, std::size_t points);

struct Prediction {
  ExperimentResult result;         // points in the order of the sweep
  int status = 0;                  // exit code: 0, 1 an expectation failed, 2, 3
  std::vector<std::string> errors; // messages of points that failed
  std::size_t known = 0;           // points that need not be run
  std::size_t damaged = 0;         // points that were kept, could not be read and were run again
  std::vector<std::string> expectations; // expectations that do not hold
  std::string unwritten;                 // the file of points, where it could not be written whole
};

/// `progress(done, total)` is called after each point. Points that fail carry an error instead of
/// jobs; an interrupted run returns the points that are there.
Prediction predict(const LoadedExperiment& experiment, const PredictOptions& options,
                   const std::function<void(int, int)>& progress);

/// The result but for its points, before anything has run.
ExperimentResult answer_head(const LoadedExperiment& experiment, const PredictOptions& options);

} // namespace foretrain::experiments
