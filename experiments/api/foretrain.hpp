// Foretrain as a library: load or build an experiment, predict, read the answer.
//
//   #include <foretrain/foretrain.hpp>
//
//   auto experiment = foretrain::api::Experiment::load("c4140-resnet50");
//   experiment.set("/jobs/0/batch_per_gpu", "128");
//   for (const auto& point : experiment.predict().points)
//     std::cout << point.jobs.front().throughput.median << " samples/s\n";
//
// and explain, compare, check and tune it; plans and fleets below. Every answer holds the JSON that
// the command prints, too. This header needs the standard library only. Errors of input are
// foretrain::api::Error, with the message that the command prints.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
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
  Interval throughput;                    // samples per second
  Interval step_time;                     // seconds
  double speedup = 0;                     // against one GPU of the same job
  std::optional<Interval> speedup_range;  // where parameters were varied and one GPU runs the job
  std::optional<double> slowdown;         // beside other jobs: throughput alone over that
  std::optional<Interval> slowdown_range; // where parameters were varied
  std::map<std::string, double>
      time;                 // seconds of a step by part: "compute", "exposed_communication", ...
  std::string limited_by;   // the resource, as in "node0/ib0/tx"
  bool fits = true;         // in device memory; where it does not, rates are what more would allow
  double memory_needed = 0; // bytes of device memory
  double memory_available = 0;  // of one device
  std::optional<Interval> days; // of the whole training, where the job says how long it is
  std::optional<Interval> cost; // of that, where a GPU hour has a price
};

using Settings = std::map<std::string, std::string>; // JSON pointer -> value as JSON

struct PredictedPoint {
  Settings settings;
  std::vector<Job> jobs;
  std::string error; // empty, or why this point could not be predicted
};

struct Answer {
  std::vector<PredictedPoint> points; // in the order of the sweep; one without a sweep
  int status = 0;   // as the command's exit code: 0, 1 an expectation failed, 2, 3
  std::string json; // all of it, as `foretrain predict --format json` prints
};

/// Something that may be better, and what a job's throughput would gain, relative.
struct Lever {
  std::string name;    // "network adapters"
  std::string doubled; // what twice as good means: "network adapters twice as fast"
  double gain_if_10_percent_better = 0;
  double gain_if_doubled = 0;
};

/// Two or three of them at once, where they save more together than one by one.
struct Together {
  std::vector<std::string> levers; // their keys: "pcie", "nic"
  std::string doubled;             // what twice as good means
  double gain_if_doubled = 0;      // of all at once, relative
};

/// Another choice of software or storage, and what it would bring, relative.
struct Swap {
  std::string pointer; // into the experiment
  std::string from, to;
  double gain = 0;
};

struct ExplainedJob {
  std::string name;
  double throughput = 0;              // samples per second
  std::map<std::string, double> time; // seconds of the step by part
  std::optional<Lever> limited_by;    // absent: nothing that is simulated would help
  std::vector<Lever> levers;          // what brings most first
  std::vector<Together> together;     // what hides most first
  std::vector<Swap> swaps;            // what brings most first
};

struct Explanation {
  Settings settings; // of the point
  std::vector<ExplainedJob> jobs;
  std::string json;
};

/// A job of A and the same of B.
struct ComparedJob {
  Settings settings; // that both points have, of those that either side varies
  std::string name;
  Interval ratio; // of B's throughput over A's
  double probability_b_faster = 0;
  std::vector<std::pair<std::string, double>>
      causes; // parts of the step: seconds of B's less A's, the largest first
};

struct Comparison {
  std::vector<ComparedJob> jobs;
  std::vector<std::string> warnings;
  std::string json;
};

/// An expectation of the experiment at one point and job.
struct CheckedExpectation {
  std::string name;    // "/expect/0: /speedup of job 'train' at {...}"
  std::string state;   // "passed", "undecided", "failed", "error"
  std::string message; // why, where it has not passed
};

struct Check {
  std::vector<CheckedExpectation> cases;
  int status = 0; // as the command's exit code: 0, 1 something failed, 2 an error
  std::string json;
};

struct TunedPlan {
  Settings parallel; // as "parallel" of the experiment's job: key -> value as JSON
  int micro_batch = 1;
  std::string recompute;
  Interval tokens_per_s;
  double mfu = 0;           // all pairs of tokens count
  double memory_needed = 0; // bytes of device memory, of the fullest stage
  std::optional<Interval> days;
  std::optional<Interval> cost;
};

struct Tuned {
  std::vector<TunedPlan> plans; // that fit, the best first
  int simulated = 0;
  std::string json;
};

/// One way to choose an option of every change of a plan.
struct PlanCandidate {
  std::map<std::string, std::string> options; // change -> option
  int nodes = 0;
  int gpus = 0;
  double cost = 0;
  double probability = 0; // that it reaches all goals
  bool fits = true;       // in device memory
  std::vector<Job> jobs;
  std::string error; // empty, or why it has no answer
};

struct PlanAnswer {
  std::vector<PlanCandidate> candidates; // today's first
  std::optional<std::size_t> recommended;
  std::optional<std::size_t> fastest; // of those that reach all goals within the budget
  std::vector<std::size_t> frontier;  // what nothing beats at no higher cost, cheapest first
  std::string json;
};

/// Over the seeds of a fleet; times in seconds.
struct FleetPoint {
  Settings settings;
  std::string policy;
  int gpus = 0;
  int submitted = 0; // jobs, of the first seed
  int completed = 0;
  Interval makespan;
  std::optional<Interval> wait_mean, wait_p90; // of jobs that ran, where any did
  std::optional<Interval> completion_mean;     // of these, from submission to end
  Interval utilisation;                        // GPU time that jobs held, of the cluster's
  Interval goodput;                            // productive GPU time, of the cluster's
  std::map<std::string, Interval> gpu_hours;   // "productive", "queued", "lost", ...
  std::optional<Interval> cost;
  std::string currency; // of it, where the cluster names one
};

struct FleetAnswer {
  std::vector<FleetPoint> points; // in the order of the sweep; one without a sweep
  std::string json;
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

  /// Simulates every point. All of these throw Error when the experiment itself is wrong.
  Answer predict(const Options& options = {}) const;
  /// Why a point of the sweep (counted from 0; absent: the last) is as fast as it is, and what
  /// would make it faster.
  Explanation explain(std::optional<std::size_t> point = {}, const Options& options = {}) const;
  /// This one is A. Points are matched by the settings that either side varies.
  Comparison compare(const Experiment& b, const Options& options = {}) const;
  /// Holds the experiment's expectations against its prediction.
  Check check(const Options& options = {}) const;
  /// Searches parallel plans for the job of a transformer.
  Tuned tune(int most_plans = 10) const;

private:
  friend struct Inside;
  std::string name_;
  std::string text_; // where it was not loaded
  std::vector<std::string> overrides_;
  std::vector<std::string> profiles_;
};

/// What may be bought or changed, at which cost, and goals: of an experiment.
class Plan {
public:
  /// A plan file, or the name of a bundled one.
  static Plan load(const std::string& name_or_path);
  void set(const std::string& pointer, const std::string& value);

  /// Simulates every candidate. Throws Error when the plan is wrong, or one of a fleet.
  PlanAnswer decide(const Options& options = {}) const;

private:
  std::string name_;
  std::vector<std::string> overrides_;
};

/// A cluster over time.
class Fleet {
public:
  /// A fleet file, or the name of a bundled one.
  static Fleet load(const std::string& name_or_path);
  void set(const std::string& pointer, const std::string& value);

  /// Simulates every point, as often and with the seeds that the file says. Throws Error.
  FleetAnswer simulate(int processes = 1) const;

private:
  std::string name_;
  std::vector<std::string> overrides_;
};

} // namespace foretrain::api
