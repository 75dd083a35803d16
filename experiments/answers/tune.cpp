#include "experiments/answers/tune.hpp"

#include "experiments/answers/parallel_search.hpp"
#include "experiments/answers/parallel_words.hpp"
#include "experiments/run/scenario.hpp"
#include "experiments/spec/resolve.hpp"
#include "experiments/spec/transformer_setting.hpp"
#include "sim/base/error.hpp"
#include "sim/base/file_name.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

using models::ParallelPlan;
using models::Recompute;

std::size_t at(sim::Phase phase)
{
  return static_cast<std::size_t>(phase);
}

// What a plan spends more time on than the best one.
std::string more_than(const sim::StepShares& plan, const models::PlanTime& best)
{
  const auto kernels = [](const sim::StepShares& s) {
    return s.busy[at(sim::Phase::forward)] + s.busy[at(sim::Phase::backward)];
  };
  const auto busy = [&](sim::Phase phase) {
    return plan.busy[at(phase)] - best.shares.busy[at(phase)];
  };
  const auto exposed = [&](sim::Phase phase) {
    return plan.exposed[at(phase)] - best.shares.exposed[at(phase)];
  };
  const std::pair<const char*, Seconds> more[] = {
      {"compute", kernels(plan) - kernels(best.shares)},
      {"recomputation", busy(sim::Phase::recompute)},
      {"tensor-parallel exchanges", exposed(sim::Phase::tensor)},
      {"context-parallel exchanges", exposed(sim::Phase::context)},
      {"experts' exchanges", exposed(sim::Phase::expert)},
      {"transfers between stages", exposed(sim::Phase::pipeline)},
      {"gradients and weights", exposed(sim::Phase::data)},
      {"bubble", plan.bubble - best.shares.bubble},
      {"optimizer", busy(sim::Phase::optimizer)}};
  const auto* most =
      std::max_element(std::begin(more), std::end(more),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most->second.value() <= 1e-4 * best.step.value())
    return "";
  return fmt::format("{} +{:.1f} %", most->first, 100 * (most->second / best.step));
}

// The experiment with another plan.
Point with_plan(const Point& point, const ParallelPlan& plan, int micro_batch, Recompute recompute,
                std::optional<int> recompute_layers)
{
  auto document = std::make_shared<Document>(*point.document);
  const int global_batch = global_batch_of(read_point(point).jobs.front());
  Json parallel = document->root.at("jobs").at(0).value("parallel", Json::object());
  for (const char* key : {"shard", "context_heads", "context_exchange"})
    parallel.erase(key);
  parallel.update(parallel_json(plan));
  const auto set = [&](const char* key, Json value) {
    set_in_experiment(*document, std::string("/jobs/0/") + key, std::move(value), "tune");
  };
  set("parallel", std::move(parallel));
  // Fewer GPUs that share the experts are less uneven at the most.
  Json& job = document->root.at("jobs").at(0);
  if (plan.expert > 1 && job.contains("routing") && job.at("routing").contains("imbalance"))
    set("routing/imbalance",
        std::min<double>(job.at("routing").at("imbalance").get<double>(), plan.expert));
  if (document->root.at("jobs").at(0).erase("batch_per_gpu") > 0) // of each replica, as it was
    set("global_batch", global_batch);
  set("micro_batch", micro_batch);
  set("recompute", word_of(recompute));
  if (recompute != Recompute::selective)
    document->root.at("jobs").at(0).erase("recompute_modules");
  document->root.at("jobs").at(0).erase("recompute_layers");
  if (recompute_layers)
    set("recompute_layers", *recompute_layers);
  return {point.settings, std::move(document), point.profiles, point.anchored};
}

TunedPlan predicted(const Point& point, const models::MemorySetting& memory,
                    const RunOptions& options)
{
  const int micro_batch = memory.batch.micro_batch;
  const std::optional<int> layers = memory.treatments.repeated;
  const PointResult result =
      run_point(with_plan(point, memory.plan, micro_batch, memory.recompute, layers), options);
  const JobResult& job = result.jobs.front();
  TunedPlan plan{memory.plan, micro_batch, word_of(memory.recompute), layers};
  plan.tokens_per_s = *job.tokens_per_s;
  plan.mfu = job.mfu->share.full;
  plan.memory = job.memory.needed;
  plan.days = job.days;
  plan.cost = job.cost;
  plan.currency = job.cost ? job.currency : "";
  return plan;
}

// Paths beside `from`, as they are called from another directory.
void relocate(Json& json, const std::filesystem::path& from, const std::filesystem::path& to)
{
  if (json.is_structured())
    for (Json& inner : json)
      relocate(inner, from, to);
  if (!json.is_string() || !is_file_name(json.get<std::string>()))
    return;
  const auto file = from / json.get<std::string>();
  if (std::filesystem::exists(file))
    json = std::filesystem::proximate(file, to).string();
}

struct Start {
  Point point;
  ResolvedExperiment experiment;
};

// A plan that divides the job's batch, whatever the file says of one; none where there is none.
std::optional<Point> divided(const Point& point)
{
  const ExperimentSpec spec = read_point(point);
  if (spec.jobs.size() != 1 || !has_transformer(spec.jobs.front()) ||
      !spec.jobs.front().global_batch)
    return std::nullopt;
  const JobSpec& job = spec.jobs.front();
  const models::TransformerFile model =
      models::load_transformer(resolve_preset(job.model, models::kNetworkKind));
  const int sequence = job.sequence.value_or(model.sequence);
  Point bare = point;
  auto document = std::make_shared<Document>(*point.document);
  document->root.at("jobs").at(0).erase("parallel");
  bare.document = std::move(document);
  for (const int micro : {job.micro_batch.value_or(1), 1}) {
    ParallelPlan plan;
    for (plan.pipeline = 1; plan.pipeline <= model.transformer.layers; ++plan.pipeline)
      for (plan.tensor = 1; plan.tensor <= model.transformer.heads; plan.tensor *= 2)
        if (models::problem_of(model.transformer, plan, job.gpus, sequence, micro,
                               *job.global_batch)
                .empty())
          return with_plan(bare, plan, micro, job.recompute, {});
  }
  return std::nullopt;
}

// The search starts from a plan that can run: the job's, or where that cannot (or where it says
// nothing of one, and its batch cannot be divided by all GPUs) any other.
Start start_of(const Point& point)
{
  try {
    return {point, resolve(point)};
  } catch (const ConfigError&) {
    if (const auto other = divided(point)) {
      try {
        return {*other, resolve(*other)};
      } catch (const ConfigError&) { // it is not the plan: what is wrong is said of the file
      }
    }
    throw;
  }
}

} // namespace

Json tuned_experiment(const Point& point, const TunedPlan& plan, const std::string& directory)
{
  const Point tuned =
      with_plan(start_of(point).point, plan.plan, plan.micro_batch,
                choice_of<Recompute>(plan.recompute).value(), plan.recompute_layers);
  Json json = tuned.document->root;
  const auto& file = tuned.document->path;
  if (!file.empty())
    relocate(json, std::filesystem::absolute(file).parent_path(),
             std::filesystem::absolute(directory.empty() ? "." : directory));
  json["description"] =
      "Tuned: " + plan_name(plan.plan, plan.micro_batch, plan.recompute, plan.recompute_layers);
  return json;
}

const Point& only_point(const LoadedExperiment& experiment)
{
  if (experiment.points.size() != 1)
    throw UsageError("tune takes one point: this experiment has a sweep of " +
                     std::to_string(experiment.points.size()) +
                     " points\n  hint: --set POINTER=VALUE holds what it varies");
  return experiment.points.front();
}

TuneAnswer tune(const Point& asked, int top, const RunOptions& options)
{
  const auto [point, experiment] = start_of(asked);
  if (experiment.jobs.size() != 1)
    Value(point.document)
        .fail_at("jobs", "are several: plans are tuned of one job that has the machine to itself");
  if (!experiment.jobs.front().transformer)
    Value(point.document)
        .at("jobs")
        .at(0)
        .fail_at("model", "is no transformer: there is no plan to tune",
                 "foretrain plan compares options of any experiment");
  TuneAnswer answer;
  answer.name = experiment.jobs.front().spec.name;
  answer.gpus = experiment.jobs.front().spec.gpus;
  answer.not_tried = "what the framework lacks, zero 2 beside 1, uneven stages by hand, other "
                     "schedules, other ways to share a "
                     "sequence, offloading, recomputation of some modules";
  const FoundPlans found = search_plans(experiment, options.fidelity, top);
  answer.tried = found.tried;
  answer.too_large = found.too_large;
  answer.hopeless = found.hopeless;
  std::vector<std::pair<TunedPlan, models::PlanTime>> plans;
  for (const FoundPlan& one : found.best)
    plans.emplace_back(predicted(point, one.memory, options), one.time);
  std::stable_sort(plans.begin(), plans.end(), [](const auto& a, const auto& b) {
    return a.first.tokens_per_s.median > b.first.tokens_per_s.median;
  });
  for (auto& [plan, time] : plans) {
    plan.loses = more_than(time.shares, plans.front().second);
    answer.best.push_back(std::move(plan));
  }
  return answer;
}

} // namespace foretrain::experiments
