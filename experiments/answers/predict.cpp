#include "experiments/answers/predict.hpp"

#include "experiments/answers/comparisons.hpp"
#include "experiments/answers/expectations.hpp"
#include "experiments/answers/expected_quantities.hpp"
#include "experiments/run/keep/result_json.hpp"
#include "experiments/run/scenario.hpp"
#include "experiments/run/workers.hpp"
#include "sim/base/error.hpp"
#include "sim/base/files.hpp"
#include "sim/base/text.hpp"
#include "sim/base/version.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <numeric>
#include <optional>
#include <set>

namespace foretrain::experiments {

namespace {

// Up to which the spread of parameters is worth its time unasked.
constexpr std::size_t kCheapPoints = 250;

using Points = std::vector<std::optional<PointResult>>; // none: not reached

// Whether some interval holds less than was asked for, because more would have cost too much.
bool steps_only(const Points& points, const UncertaintyOptions& options)
{
  if (options.method != UncertaintyMethod::automatic)
    return false;
  for (const auto& point : points)
    if (point)
      for (const JobResult& job : point->jobs)
        if (job.uncertainty->method == "steps")
          return true;
  return false;
}

// A flow for every link costs too much beyond.
constexpr int kMostGpusWithBounds = 256;

// Collectives of several jobs on one machine: how much depends on the way they are simulated.
PointResult run_with_bounds(const Point& point, const RunOptions& options)
{
  PointResult result = run_point(point, options);
  int gpus = 0;
  for (const JobResult& job : result.jobs)
    gpus += job.gpus;
  const bool exchanges = gpus > static_cast<int>(result.jobs.size());
  if (result.jobs.size() < 2 || !exchanges || gpus > kMostGpusWithBounds ||
      options.fidelity != models::Fidelity::coupled)
    return result;
  RunOptions by_edges = options;
  by_edges.fidelity = models::Fidelity::edges;
  by_edges.trace_path.clear();
  by_edges.late = result.late;
  const auto edges = quick_throughputs(point, by_edges);
  for (std::size_t i = 0; i < result.jobs.size(); ++i)
    // By chance of phases, few steps of them can be slower.
    result.jobs[i].bounds = Bounds{result.jobs[i].throughput.median,
                                   std::max(result.jobs[i].throughput.median, edges[i])};
  return result;
}

Outcome run_piece(const Point& point, const RunOptions& options)
{
  try {
    return {0, to_json(run_with_bounds(point, options)).dump()};
  } catch (const ConfigError& error) {
    return {2, error.what()};
  } catch (const UsageError& error) {
    return {2, error.what()};
  } catch (const std::exception& error) {
    return {3,
            fmt::format("internal error: {}; please report it with the input files", error.what())};
  }
}

// A piece's text: whether it is known, its key, and on a second line what came out.
constexpr char kKnown = '=';
constexpr char kRun = '+';

// `anew`: although it is known.
Outcome run_or_recall(const Point& point, const RunOptions& options, const PointKeeper& keeper,
                      bool anew)
{
  std::string key;
  try {
    if (keeper.key_of)
      key = keeper.key_of(point);
  } catch (const ConfigError&) { // running it tells
  }
  if (!anew && !key.empty() && keeper.holds && keeper.holds(key))
    return {0, kKnown + key + "\n"};
  Outcome outcome = run_piece(point, options);
  outcome.text.insert(0, kRun + key + "\n");
  return outcome;
}

// Points in a line-per-point file as they are finished, so that nothing is lost, at the end in
// their order.
class Stream {
public:
  explicit Stream(const std::string& directory)
  {
    if (directory.empty())
      return;
    path_ = directory + "/points.jsonl";
    out_.open(path_);
  }
  void put(std::size_t at, const Json& point)
  {
    if (path_.empty())
      return;
    out_ << point.dump() << std::endl;
    written_.push_back(at);
  }
  void sort(const Points& points)
  {
    if (!out_ || std::is_sorted(written_.begin(), written_.end()))
      return;
    std::sort(written_.begin(), written_.end());
    std::string text;
    for (const std::size_t at : written_)
      text += to_json(*points[at]).dump() + "\n";
    try {
      write_file(path_, text);
    } catch (const UsageError&) { // what was written stays
      out_.setstate(std::ios::failbit);
    }
  }
  /// The file, where it could not be written whole.
  std::string unwritten() const { return out_ ? "" : path_; }

private:
  std::string path_;
  std::ofstream out_;
  std::vector<std::size_t> written_;
};

// What no point of the run had a use for, told once.
std::vector<std::string> unused_everywhere(Points& points)
{
  std::optional<std::set<std::string>> unused;
  for (auto& point : points) {
    if (!point || point->jobs.empty())
      continue;
    const std::set<std::string> here(point->unused.begin(), point->unused.end());
    point->unused.clear();
    if (!unused)
      unused = here;
    std::erase_if(*unused, [&](const std::string& name) { return here.count(name) == 0; });
  }
  return unused ? std::vector<std::string>(unused->begin(), unused->end())
                : std::vector<std::string>{};
}

// Made of the points that are there.
ExperimentResult whole_answer(const LoadedExperiment& experiment, const PredictOptions& options,
                              Points& points)
{
  ExperimentResult result = answer_head(experiment, options);
  if (const auto unused = unused_everywhere(points); !unused.empty())
    result.warnings.push_back("no use here for what a profile says of " + joined(unused));
  if (steps_only(points, options.uncertainty))
    result.warnings.emplace_back(
        "intervals of runs that take long (300,000 flows or GPUs), or of more than 250 points, "
        "show the "
        "variation from step to step only; --uncertainty linear adds that of parameters");
  result.comparisons = compare_points(points, experiment);
  for (auto& point : points)
    if (point)
      result.points.push_back(std::move(*point));
  return result;
}

// What a store holds; none where no run can have written it.
std::optional<PointResult> kept_point(const std::optional<Json>& kept)
{
  if (!kept)
    return std::nullopt;
  try {
    return read_from<PointResult>(*kept, "a kept point");
  } catch (const ConfigError&) {
    return std::nullopt;
  }
}

// What a point's process told.
struct ToldPoint {
  bool known = false; // whoever keeps points has it
  std::string key;    // of those who keep them
  std::string text;   // the result, or why there is none
};

ToldPoint told_point(const Outcome& outcome, const LoadedExperiment& experiment, std::size_t at)
{
  const std::size_t end = outcome.text.find('\n'); // a process that was killed has no key
  const bool keyed =
      end != std::string::npos && (outcome.text.front() == kKnown || outcome.text.front() == kRun);
  ToldPoint told{keyed && outcome.text.front() == kKnown,
                 keyed ? outcome.text.substr(1, end - 1) : "",
                 keyed ? outcome.text.substr(end + 1) : outcome.text};
  if (told.key.empty()) // what it depends on could not be read, or its process was killed
    told.key =
        "failed: " + experiment.spec.name + settings_json(experiment.points[at].settings).dump();
  return told;
}

} // namespace

ExperimentResult answer_head(const LoadedExperiment& experiment, const PredictOptions& options)
{
  ExperimentResult result;
  result.experiment = experiment.spec.name;
  result.description = experiment.spec.description;
  result.version = version();
  result.seed = options.seed;
  result.fidelity = options.fidelity;
  result.input = experiment.document->root;
  return result;
}

RunOptions run_options(const PredictOptions& options, std::size_t points)
{
  RunOptions run;
  run.seed = options.seed;
  run.fidelity = options.fidelity;
  run.uncertainty = options.uncertainty;
  if (points == 1)
    run.progress = options.steps;
  if (points > kCheapPoints && run.uncertainty.method == UncertaintyMethod::automatic)
    run.uncertainty.method = UncertaintyMethod::steps;
  return run;
}

Prediction predict(const LoadedExperiment& experiment, const PredictOptions& options,
                   const std::function<void(int, int)>& progress)
{
  check_expected_quantities(experiment);
  const std::size_t count = experiment.points.size();
  Points points(count);
  std::vector<std::size_t> missing(count);
  std::iota(missing.begin(), missing.end(), 0U);
  std::vector<std::size_t> damaged;
  Prediction prediction;
  Stream stream(options.directory);
  const RunOptions run = run_options(options, count);
  const auto work = [&](int i) {
    const std::size_t at = missing[static_cast<std::size_t>(i)];
    RunOptions traced = run;
    if (options.trace)
      traced.trace_path = fmt::format("{}/trace-{}.json", options.directory, at);
    return run_or_recall(experiment.points[at], traced, options.keeper, prediction.damaged > 0);
  };
  int finished = 0;
  const auto done = [&](int i, const Outcome& outcome) {
    const std::size_t at = missing[static_cast<std::size_t>(i)];
    const ToldPoint told = told_point(outcome, experiment, at);
    if (options.keeper.at)
      options.keeper.at(at, told.key);
    if (told.known) {
      points[at] = kept_point(options.keeper.find(told.key));
      if (!points[at]) {
        damaged.push_back(at);
        return;
      }
      points[at]->settings = experiment.points[at].settings;
      ++prediction.known;
    } else {
      Json json;
      if (outcome.status == 0) {
        json = Json::parse(told.text);
        points[at] = read_from<PointResult>(json, "a point");
      } else {
        points[at].emplace().settings = experiment.points[at].settings;
        points[at]->error = told.text;
        json = to_json(*points[at]);
        prediction.errors.push_back(told.text);
        prediction.status = std::max(prediction.status, outcome.status);
      }
      stream.put(at, json);
      if (options.keeper.put)
        options.keeper.put(told.key, json);
    }
    progress(++finished, static_cast<int>(count));
  };
  bool complete = true;
  const auto run_missing = [&] {
    if (count == 1 && !options.apart)
      done(0, work(0)); // no process of its own is needed
    else
      complete = run_workers(static_cast<int>(missing.size()), options.jobs, work, done,
                             options.keeper.idle);
  };
  run_missing();
  if (complete && !damaged.empty()) {
    prediction.damaged = damaged.size();
    missing = std::move(damaged);
    run_missing();
  }

  stream.sort(points);
  ExperimentResult& result = prediction.result;
  result = whole_answer(experiment, options, points);
  if (!complete) {
    result.interrupted = true;
    prediction.status = 130;
  }
  prediction.unwritten = stream.unwritten();
  prediction.expectations =
      violated_expectations(experiment.spec, result, is_narrowed(*experiment.document));
  if (prediction.status == 0 && !prediction.expectations.empty())
    prediction.status = 1;
  return prediction;
}

} // namespace foretrain::experiments
