// An experiment's points into a result store: taken up where it was left, here or on a cluster.
#include "experiments/cli/experiment_arguments.hpp"
#include "experiments/cli/slurm.hpp"
#include "experiments/fingerprint.hpp"
#include "experiments/result_json.hpp"
#include "experiments/result_store.hpp"
#include "sim/base/error.hpp"

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
  std::string part;
  bool anew = false;
  std::string launcher = "local";
  std::vector<std::string> sbatch;
};

struct Part {
  std::size_t index = 0;
  std::size_t count = 1;
};

Part part_of(const std::string& text)
{
  Part part;
  if (text.empty())
    return part;
  std::size_t end = 0;
  try {
    part.index = std::stoul(text, &end);
    if (text.at(end) == '/')
      part.count = std::stoul(text.substr(end + 1));
    if (text.find_first_not_of("0123456789/") != std::string::npos ||
        std::count(text.begin(), text.end(), '/') != 1)
      part.count = 0;
  } catch (const std::exception&) {
    part.count = 0;
  }
  if (part.count == 0 || part.index >= part.count)
    throw UsageError("--part must be K/N with K from 0 to N - 1, got '" + text + "'");
  return part;
}

std::string store_of_part(const std::string& store, const Part& part)
{
  return fmt::format("{}.part-{}-of-{}", store, part.index, part.count);
}

// Every n-th point: neighbours cost alike, so that parts end together.
LoadedExperiment share_of(LoadedExperiment experiment, const Part& part)
{
  std::vector<Point> points;
  for (std::size_t i = part.index; i < experiment.points.size(); i += part.count)
    points.push_back(experiment.points[i]);
  experiment.points = std::move(points);
  experiment.spec.expect.clear(); // about the whole
  return experiment;
}

// What tasks of an earlier launch have left beside the store.
void collect(ResultStore& store, const std::string& path)
{
  const std::filesystem::path file = std::filesystem::absolute(path);
  const std::string prefix = file.filename().string() + ".part-";
  int taken = 0;
  for (const auto& entry : std::filesystem::directory_iterator(file.parent_path())) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(prefix) && !name.ends_with("-journal"))
      taken += store.merge(entry.path().string());
  }
  if (taken > 0)
    std::cerr << "collected " << taken << " points from " << path << ".part-*\n";
}

// Lets predictions read points from the store and write them there.
void connect(PredictOptions& options, ResultStore& store, const LoadedExperiment& experiment,
             bool anew)
{
  const auto keys = std::make_shared<std::vector<std::string>>();
  const RunOptions run = run_options(options, experiment.points.size());
  for (const Point& point : experiment.points)
    try {
      keys->push_back(fingerprint(point, run));
    } catch (const ConfigError&) {
      keys->emplace_back(); // predict() tells; there is nothing to keep
    }
  if (!anew)
    options.known = [keys, &store](std::size_t i) { return store.find(keys->at(i)); };
  options.finished = [keys, &store, &experiment, seed = options.seed,
                      fidelity = options.fidelity](std::size_t i, const Json& result) {
    if (keys->at(i).empty())
      return;
    store.put(
        {keys->at(i), experiment.spec.name, FORETRAIN_VERSION, seed, name_of(fidelity), result});
  };
}

int run_local(const SweepArguments& a, const LoadedExperiment& experiment)
{
  PredictOptions options = options_of(a.experiment, experiment);
  ResultStore store(a.store);
  collect(store, a.store);
  connect(options, store, experiment, a.anew);
  std::size_t known = 0;
  for (std::size_t i = 0; options.known && i < experiment.points.size(); ++i)
    known += options.known(i) ? 1U : 0U;
  if (known > 0)
    std::cerr << known << " of " << experiment.points.size() << " points are in " << a.store
              << " already\n";
  const int status = run_and_tell(a.experiment, experiment, std::move(options));
  std::cerr << "results are in " << a.store << "\n";
  return status;
}

int run_part(const SweepArguments& a, const LoadedExperiment& experiment, const Part& part)
{
  PredictOptions options = options_of(a.experiment, experiment);
  // As in the whole sweep, of which this is a part.
  options.uncertainty = run_options(options, experiment.points.size()).uncertainty;
  options.directory.clear(); // reports are about the whole
  const LoadedExperiment share = share_of(experiment, part);
  const std::string path = store_of_part(a.store, part);
  ResultStore store(path);
  connect(options, store, share, a.anew);
  const Prediction prediction = experiments::predict(share, options, [](int, int) {});
  for (const auto& error : prediction.errors)
    std::cerr << error << "\n";
  std::cerr << share.points.size() << " points are in " << path << "\n";
  return prediction.status;
}

// This program with these arguments, to sweep on another machine.
std::vector<std::string> command_of(const SweepArguments& a)
{
  const ExperimentArguments& e = a.experiment;
  std::vector<std::string> words{std::filesystem::read_symlink("/proc/self/exe").string(), "sweep",
                                 e.file, "--db", a.store};
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

int run(const SweepArguments& a)
{
  if (a.store.empty() || a.store.front() == ':')
    throw UsageError("--db needs the name of a file, got '" + a.store + "'");
  const LoadedExperiment experiment = load(a.experiment);
  if (!a.part.empty())
    return run_part(a, experiment, part_of(a.part));
  if (a.launcher == "slurm")
    return submit_to_slurm({command_of(a), a.store, a.experiment.jobs, a.sbatch},
                           experiment.points.size());
  return run_local(a, experiment);
}

} // namespace

std::function<int()> sweep(CLI::App& app)
{
  const auto a = std::make_shared<SweepArguments>();
  add_experiment_options(app, a->experiment);
  app.add_option("--db", a->store, "SQLite file that keeps finished points")->required();
  app.add_flag("--anew", a->anew, "run points again that are in the file already");
  app.add_option("--launcher", a->launcher,
                 "local: processes here; slurm: a job array of --jobs tasks (default 16)")
      ->check(CLI::IsMember({"local", "slurm"}));
  app.add_option("--sbatch", a->sbatch,
                 "an option for sbatch, like --sbatch=--partition=cpu; may be repeated");
  app.add_option("--part", a->part,
                 "K/N: only every N-th point from the K-th, into DB.part-K-of-N, for launchers of "
                 "one's own; the next sweep into DB collects them");
  return [a] { return run(*a); };
}

} // namespace foretrain::cli
