// Foretrain as a library: load or build an experiment, predict, read the answer.
//
//   #include <foretrain/foretrain.hpp>
//
//   auto experiment = foretrain::api::Experiment::load("c4140-resnet50");
//   experiment.set("/jobs/0/batch_per_gpu", "128");
//   for (const auto& point : experiment.predict().points)
//     std::cout << point.jobs.front().throughput.median << " samples/s\n";
//
// This header needs the standard library only. Errors of input are foretrain::api::Error, with the
// message that the command prints.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace foretrain::api {

/// Wrong input: file, place, what was found and what is allowed.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Where presets lie, unless FORETRAIN_DATA says otherwise; before the first experiment.
void use_data(const std::string& folder);
#ifdef FORETRAIN_INSTALLED_WITH // find_package(Foretrain) names the data of its prefix
inline const bool kDataNamed = (use_data(FORETRAIN_INSTALLED_WITH), true);
#endif

struct Interval {
  double median = 0;
  double low = 0;
  double high = 0;
  double probability = 0.9; // that the quantity lies between low and high
};

struct Job {
  std::string name;
  int gpus = 0;
  int nodes = 0;
  Interval throughput; // samples per second
  Interval step_time;  // seconds
  double speedup = 0;  // against one GPU of the same job
  std::map<std::string, double>
      time;                 // seconds of a step by part: "compute", "exposed_communication", ...
  std::string limited_by;   // the resource, as in "node0/ib0/tx"
  bool fits = true;         // in device memory; where it does not, rates are what more would allow
  double memory_needed = 0; // bytes of device memory
  double memory_available = 0;  // of one device
  std::optional<Interval> days; // of the whole training, where the job says how long it is
  std::optional<Interval> cost; // of that, where a GPU hour has a price
};

struct PredictedPoint {
  std::map<std::string, std::string> settings; // JSON pointer -> value as JSON
  std::vector<Job> jobs;
  std::string error; // empty, or why this point could not be predicted
};

struct Answer {
  std::vector<PredictedPoint> points; // in the order of the sweep; one without a sweep
  int status = 0;   // as the command's exit code: 0, 1 an expectation failed, 2, 3
  std::string json; // all of it, as `foretrain predict --format json` prints
};

struct Options {
  std::uint64_t seed = 1;
  int processes = 1;     // points at a time, each in a child process of the caller
  double interval = 0.9; // probability that intervals hold
};

class Experiment {
public:
  /// An experiment file, or the name of a bundled one.
  static Experiment load(const std::string& name_or_path);
  /// The same from its text (JSON, comments allowed); relative paths in it are beside `folder`.
  static Experiment from_text(const std::string& text, const std::string& folder = ".");

  /// Changes a value, as --set POINTER=VALUE: JSON, or a word.
  void set(const std::string& pointer, const std::string& value);
  /// Lays calibrated parameters over the presets; later ones override.
  void add_profile(const std::string& name_or_path);

  /// Simulates every point. Throws Error when the experiment itself is wrong.
  Answer predict(const Options& options = {}) const;

private:
  std::string name_;
  std::string text_; // where it was not loaded
  std::vector<std::string> overrides_;
  std::vector<std::string> profiles_;
};

} // namespace foretrain::api
