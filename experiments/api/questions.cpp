// The questions of foretrain.hpp, each asked as its command asks it.
#include "experiments/api/foretrain.hpp"

#include "experiments/api/public_answers.hpp"
#include "experiments/run/simulate/anchor_runs.hpp"
#include "experiments/run/workers.hpp"
#include "sim/base/catalog.hpp"
#include "sim/base/error.hpp"
#include "sim/base/schema.hpp"

#include <fmt/format.h>

namespace foretrain::api {

// What an experiment keeps, for those who run it.
struct Inside {
  static experiments::LoadedExperiment load(const Experiment& e)
  {
    if (e.text_.empty())
      return experiments::load_experiment(e.name_, e.overrides_, e.profiles_);
    const auto document = parse_document(e.text_, e.name_);
    document->path = e.name_;
    const Value whole = resolve_preset(Value(DocumentPtr(document)), experiments::kExperimentKind);
    return experiments::load_experiment(std::make_shared<Document>(*whole.document()), e.overrides_,
                                        e.profiles_);
  }
  static const std::string& name(const Experiment& e) { return e.name_; }
};

namespace {

// Messages of the rooms below as this header's own error.
template <class Work>
auto guarded(const Work& work)
{
  try {
    return work();
  } catch (const ConfigError& error) {
    throw Error(error.what());
  } catch (const UsageError& error) {
    throw Error(error.what());
  }
}

// SimGrid's engine is one per process: what simulates in one go has a process of its own, from
// which its answer comes as text.
template <class Work>
auto in_child(const Work& work)
{
  experiments::Outcome outcome;
  const auto run = [&work](int) -> experiments::Outcome {
    try {
      return {0, written(guarded(work)).dump()};
    } catch (const Error& error) {
      return {2, error.what()};
    } catch (const std::exception& error) {
      return {3, std::string("internal error: ") + error.what()};
    }
  };
  if (!experiments::run_workers(1, 1, run,
                                [&outcome](int, const experiments::Outcome& it) { outcome = it; }))
    throw Error("interrupted");
  if (outcome.status != 0)
    throw Error(outcome.text);
  return read_from<decltype(work())>(Json::parse(outcome.text), "the answer of a process");
}

experiments::PredictOptions options_of(const Options& options)
{
  experiments::PredictOptions how;
  how.seed = options.seed;
  how.jobs = options.processes;
  how.uncertainty.interval = options.interval;
  how.apart = true;
  return how;
}

experiments::Prediction prediction_of(const experiments::LoadedExperiment& experiment,
                                      const experiments::PredictOptions& options)
{
  return experiments::predict(experiment, options, [](int, int) {});
}

experiments::CompareSide side_of(const Experiment& experiment, const Options& options)
{
  const experiments::LoadedExperiment loaded = Inside::load(experiment);
  const experiments::Prediction prediction = prediction_of(loaded, options_of(options));
  if (!prediction.errors.empty())
    throw Error(prediction.errors.front());
  return side_of_prediction(loaded, prediction.result, Inside::name(experiment));
}

} // namespace

void use_data(const std::string& folder)
{
  look_in(folder);
}

Experiment Experiment::load(const std::string& name_or_path)
{
  Experiment experiment;
  experiment.name_ = name_or_path;
  return experiment;
}

Experiment Experiment::from_text(const std::string& text, const std::string& folder)
{
  Experiment experiment;
  experiment.name_ = folder + "/experiment.json";
  experiment.text_ = text;
  return experiment;
}

void Experiment::set(const std::string& pointer, const std::string& value)
{
  overrides_.push_back(pointer + "=" + value);
}

void Experiment::add_profile(const std::string& name_or_path)
{
  profiles_.push_back(name_or_path);
}

Answer Experiment::predict(const Options& options) const
{
  return guarded(
      [&] { return public_answer(prediction_of(Inside::load(*this), options_of(options))); });
}

Explanation Experiment::explain(std::optional<std::size_t> point, const Options& options) const
{
  return public_answer(in_child([&] {
    const experiments::LoadedExperiment loaded = Inside::load(*this);
    const std::size_t last = loaded.points.size() - 1;
    if (point.value_or(0) > last)
      throw Error(fmt::format("points are 0 to {}: they count from 0, got {}", last, *point));
    experiments::ExplainOptions how;
    how.run = run_options(options_of(options), 1);
    return experiments::explain(loaded, point.value_or(last), how);
  }));
}

Comparison Experiment::compare(const Experiment& b, const Options& options) const
{
  return guarded([&] {
    const experiments::CompareSide side_a = side_of(*this, options);
    const experiments::CompareSide side_b = side_of(b, options);
    experiments::CompareOptions how;
    how.interval = options.interval;
    return public_answer(in_child([&] { return experiments::compare(side_a, side_b, how); }));
  });
}

Check Experiment::check(const Options& options) const
{
  return guarded([&] {
    const experiments::LoadedExperiment loaded = Inside::load(*this);
    const auto prediction = prediction_of(loaded, options_of(options));
    return public_answer(experiments::CheckedFile{name_, loaded.spec.name,
                                                  experiments::check(loaded, prediction, {}), 0});
  });
}

Tuned Experiment::tune(int most_plans) const
{
  return public_answer(in_child([&] {
    const experiments::LoadedExperiment loaded = Inside::load(*this);
    const experiments::RunOptions how;
    return experiments::tune(experiments::with_kernel_times(experiments::only_point(loaded), how),
                             most_plans, how);
  }));
}

Plan Plan::load(const std::string& name_or_path)
{
  Plan plan;
  plan.name_ = name_or_path;
  return plan;
}

void Plan::set(const std::string& pointer, const std::string& value)
{
  overrides_.push_back(pointer + "=" + value);
}

PlanAnswer Plan::decide(const Options& options) const
{
  return guarded([&] {
    const experiments::LoadedPlan plan = experiments::load_plan(name_, overrides_, {});
    experiments::PredictOptions how = options_of(options);
    how.uncertainty.method = experiments::UncertaintyMethod::linear; // chances need it
    const auto prediction = prediction_of(plan.experiment, how);
    return public_answer(experiments::judge(plan, prediction.result));
  });
}

Fleet Fleet::load(const std::string& name_or_path)
{
  Fleet fleet;
  fleet.name_ = name_or_path;
  return fleet;
}

void Fleet::set(const std::string& pointer, const std::string& value)
{
  overrides_.push_back(pointer + "=" + value);
}

FleetAnswer Fleet::simulate(int processes) const
{
  const experiments::FleetFile file =
      guarded([&] { return experiments::load_fleet_file(name_, overrides_, ""); });
  const auto simulated = [&] {
    experiments::FleetOptions how = experiments::options_of(file.points.front().fleet.spec);
    how.jobs = processes;
    return experiments::run_fleet_points(file.points, how);
  };
  if (file.swept())
    return public_answer(
        in_child([&] { return experiments::fleet_sweep_answer(file, simulated()); }));
  return public_answer(in_child([&] { return simulated().front().answer; }));
}

} // namespace foretrain::api
