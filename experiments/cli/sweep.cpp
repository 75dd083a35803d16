// An experiment's points into a result store: taken up where it was left, here or on a cluster.
#include "experiments/cli/experiment_arguments.hpp"
#include "experiments/cli/part_argument.hpp"
#include "experiments/cli/slurm.hpp"
#include "experiments/cli/sweep_note.hpp"
#include "experiments/cli/sweep_status.hpp"
#include "experiments/run/keep/fingerprint.hpp"
#include "experiments/run/keep/result_store.hpp"
#include "experiments/spec/resolve.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <filesystem>
#include <iostream>

#include <fmt/format.h>

namespace foretrain::cli {

namespace {

using namespace experiments;

struct SweepArguments {
  ExperimentArguments experiment;
  std::string store;
  const CLI::Option* store_given = nullptr;
  bool anew = false;
  LauncherArguments launcher;
  std::string status;
  std::string clean;
};

std::string store_of_part(const std::string& store, const WorkPart& part)
{
  return fmt::format("{}.part-{}-of-{}", store, part.index, part.count);
}

// What a point costs, roughly: GPUs times steps of all jobs.
double cost_of(const Point& point)
{
  double cost = 1;
  for (const JobSpec& job : read_point(point).jobs)
    cost += job.gpus * (job.steps.value_or(default_steps(job.gpus)) + job.warmup_steps);
  return cost;
}

// The dearest points first, each to the part that has the least to do: parts end together.
LoadedExperiment share_of(LoadedExperiment experiment, const WorkPart& part)
{
  std::vector<std::pair<double, std::size_t>> costs;
  for (const Point& point : experiment.points)
    costs.emplace_back(-cost_of(point), costs.size());
  std::sort(costs.begin(), costs.end());
  std::vector<double> loads(part.count, 0);
  std::vector<Point> points;
  for (const auto& [negative, i] : costs) {
    const auto least = std::min_element(loads.begin(), loads.end());
    *least -= negative;
    if (static_cast<std::size_t>(least - loads.begin()) == part.index)
      points.push_back(experiment.points[i]);
  }
  experiment.points = std::move(points);
  experiment.spec.expect.clear(); // about the whole
  return experiment;
}

// What tasks of an earlier launch have left beside the store.
void collect(ResultStore& store, const std::string& path)
{
  int taken = 0;
  for (const std::string& part : parts_beside(path))
    try {
      taken += store.merge(part);
    } catch (const UsageError& error) { // one bad file must not hold up the others
      std::cerr << "not collected: " << error.what() << "\n";
    }
  if (taken > 0)
    std::cerr << "collected " << taken << " points from " << path << ".part-*\n";
}

// Lets predictions read points from the store. What it holds is asked before processes are made:
// these can't use the connection.
void connect(PredictOptions& options, ResultStore& store, const LoadedExperiment& experiment,
             bool anew)
{
  const RunOptions run = run_options(options, experiment.points.size());
  options.keeper.key_of = [run](const Point& point) { return fingerprint(point, run); };
  if (!anew) {
    options.keeper.holds = [keys = store.keys()](const std::string& key) {
      return keys.count(key) > 0;
    };
    options.keeper.find = [&store](const std::string& key) { return store.find(key); };
  }
}

void tell_kept(const Prediction& prediction, std::size_t points, const std::string& store)
{
  if (prediction.known > 0)
    std::cerr << prediction.known << " of " << points << " points are in " << store << " already\n";
  if (prediction.damaged > 0)
    std::cerr << prediction.damaged << " points in " << store
              << " were damaged and have been run again\n";
}

int run_local(const SweepArguments& a, const LoadedExperiment& experiment)
{
  PredictOptions options = options_of(a.experiment, experiment);
  ResultStore store(a.store);
  collect(store, a.store);
  connect(options, store, experiment, a.anew);
  SweepNote note(store, experiment, options);
  note.watch(options);
  const Prediction prediction = run(experiment, std::move(options));
  note.end(prediction.result);
  tell_kept(prediction, experiment.points.size(), a.store);
  const int status = tell(a.experiment, experiment, prediction);
  std::cerr << "results are in " << a.store << "\n";
  return status;
}

int run_part(const SweepArguments& a, const LoadedExperiment& experiment, const WorkPart& part)
{
  PredictOptions options = options_of(a.experiment, experiment);
  // As in the whole sweep, of which this is a part.
  options.uncertainty = run_options(options, experiment.points.size()).uncertainty;
  options.directory.clear(); // reports are about the whole
  const LoadedExperiment share = share_of(experiment, part);
  const std::string path = store_of_part(a.store, part);
  ResultStore store(path);
  connect(options, store, share, a.anew);
  std::unique_ptr<ResultStore> whole; // what was collected before need not be run, either
  if (!a.anew && std::filesystem::exists(a.store)) {
    whole = std::make_unique<ResultStore>(a.store);
    options.keeper.holds = [keys = whole->keys(),
                            of_part = options.keeper.holds](const std::string& key) {
      return keys.count(key) > 0 || of_part(key);
    };
    options.keeper.find = [&store, &whole](const std::string& key) {
      auto found = store.find(key);
      return found ? found : whole->find(key);
    };
  }
  SweepNote note(store, share, options);
  note.watch(options);
  const Prediction prediction = experiments::predict(share, options, [](int, int) {});
  note.end(prediction.result);
  tell_kept(prediction, share.points.size(), path);
  for (const auto& error : prediction.errors)
    std::cerr << error << "\n";
  tell_misfits(prediction);
  std::cerr << share.points.size() << " points are in " << path << "\n";
  return prediction.status;
}

// This program with these arguments, to sweep on another machine.
std::vector<std::string> command_of(const SweepArguments& a)
{
  const ExperimentArguments& e = a.experiment;
  std::vector<std::string> words{this_program(), "sweep", e.file, "--db", a.store};
  const auto add = [&words](const std::string& option, const std::string& value) {
    words.insert(words.end(), {option, value});
  };
  for (const std::string& setting : e.set)
    add("--set", setting);
  for (const std::string& profile : e.profiles)
    add("--profile", profile);
  if (e.seed_given->count() > 0)
    add("--seed", std::to_string(e.seed));
  add("--fidelity", e.fidelity);
  add("--uncertainty", e.uncertainty);
  add("--samples", std::to_string(e.samples));
  add("--interval", fmt::format("{}", e.interval));
  if (!e.out.empty())
    add("--out", e.out);
  return words;
}

int run_sweep(const SweepArguments& a)
{
  if (!a.status.empty())
    return sweep_status(a.status);
  if (!a.clean.empty())
    return sweep_clean(a.clean);
  if (a.experiment.file.empty())
    throw UsageError("sweep needs an experiment: foretrain sweep EXPERIMENT --db FILE");
  if (a.store.empty() && a.store_given->count() == 0)
    throw UsageError(
        "sweep needs --db FILE, which keeps finished points\n  hint: foretrain sweep " +
        excerpt(a.experiment.file, 200) + " --db results.db");
  if (a.store.empty() || a.store.front() == ':')
    throw UsageError("--db needs the name of a file, got '" + a.store + "'");
  const LoadedExperiment experiment = load(a.experiment);
  if (!a.launcher.part.empty())
    return run_part(a, experiment, part_of(a.launcher.part));
  if (a.launcher.slurm()) {
    ResultStore store(a.store);
    SweepRun queued;
    queued.experiment = experiment.spec.name;
    queued.answer = "{}";
    queued.points = static_cast<std::int64_t>(experiment.points.size());
    queued.host = "slurm";
    store.begin(queued);
  }
  if (a.launcher.slurm())
    return submit_to_slurm({command_of(a), a.store, a.experiment.jobs, a.launcher.sbatch},
                           experiment.points.size(), "points");
  return run_local(a, experiment);
}

} // namespace

std::function<int()> sweep(CLI::App& app)
{
  const auto a = std::make_shared<SweepArguments>();
  add_experiment_options(app, a->experiment);
  a->store_given = app.add_option("--db", a->store, "SQLite file that keeps finished points");
  app.add_flag("--anew", a->anew, "run points again that are in the file already");
  add_launcher_options(
      app, a->launcher,
      "only the K-th of N parts that cost alike, into DB.part-K-of-N, for launchers of "
      "one's own; the next sweep into DB collects them");
  app.add_option(
      "--status", a->status,
      "FILE: say of a sweep into this file what is done, running and failed, and when it "
      "will end");
  app.add_option("--clean", a->clean,
                 "FILE: take over what tasks have left, remove their files, and forget points that "
                 "failed");
  app.get_option("EXPERIMENT")->required(false);
  return [a] { return run_sweep(*a); };
}

} // namespace foretrain::cli
