#include "experiments/answers/explain_swaps.hpp"

#include "experiments/run/limits/pulled.hpp"
#include "experiments/spec/fitting_plan.hpp"
#include "experiments/spec/remarks.hpp"
#include "experiments/spec/resolve.hpp"
#include "sim/base/error.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

constexpr double kSameRate = 1e-3; // a swap that changes no job by more is not worth a line

// Those made for transformers are no choice for other models, and others none for them; nor is what
// computes on CPUs (convolutions by patches: the twin) one for GPUs, or the other way round.
// Nobody goes back to code that the job's own has replaced, or that is older than the GPU.
std::vector<std::string> frameworks(const ResolvedJob& job, const platforms::Gpu& gpu,
                                    const Value& root)
{
  const auto load = [&](const std::string& name) {
    return models::load_framework(preset_reference(name, root));
  };
  std::vector<std::string> names;
  for (const std::string& name : preset_names(models::kFrameworkKind)) {
    const models::Framework framework = load(name);
    const bool of_its_kind = framework.transformer.has_value() == (job.transformer != nullptr) &&
                             framework.kernels.explicit_patches == gpu.on_host() &&
                             models::written_for(framework, job.network.name);
    if (of_its_kind && !predates(framework, gpu) &&
        (framework.newer.empty() || load(framework.newer).name != job.framework.name))
      names.push_back(name);
  }
  return names;
}

struct Alternative {
  std::string pointer;
  std::vector<std::string> options;
};

// What programs of today have for experts (docs/large-models.md).
std::vector<Alternative> rules_for_experts()
{
  return {{"dispatcher", words_of<models::Dispatcher>()},
          {"cuda_graphs", words_of<models::CudaGraphs>()}};
}

// A framework told by its name becomes an object, for a rule of its own.
void set_choice(Document& document, const std::string& pointer, const std::string& option)
{
  const std::size_t rule = pointer.find("/framework/transformer/");
  if (rule != std::string::npos) {
    Json& job = document.root.at(Json::json_pointer(pointer.substr(0, rule)));
    if (job.at("framework").is_string())
      job["framework"] = {{"extends", job.at("framework")}};
    job["framework"].emplace("transformer", Json::object());
  }
  set_in_experiment(document, pointer, option, "explain");
}

std::vector<Alternative> choices_of(const ResolvedExperiment& experiment, const Value& root)
{
  std::vector<Alternative> choices{{"/stack/host", preset_names(platforms::kHostKind)}};
  if (experiment.nodes > 1)
    choices.push_back({"/stack/network", transports_between_nodes(root)});
  if (experiment.storage)
    choices.push_back({"/cluster/storage", preset_names(platforms::kStorageKind)});
  for (std::size_t i = 0; i < experiment.jobs.size(); ++i) {
    const std::string job = fmt::format("/jobs/{}", i);
    const bool transformer = experiment.jobs[i].transformer != nullptr;
    if (!experiment.jobs[i].network.measured) // recorded times hold for what ran then
      choices.push_back(
          {job + "/framework", frameworks(experiment.jobs[i], experiment.platform.gpu, root)});
    // A measured rate holds for one precision.
    if (transformer) {
      choices.push_back({job + "/precision", {"fp16", "bf16", "fp8", "mxfp8", "nvfp4"}});
      choices.push_back({job + "/recompute", {"none", "selective", "full"}});
      if (experiment.jobs[i].transformer->step.memory.model.experts > 0)
        for (const auto& [key, options] : rules_for_experts())
          choices.push_back({fmt::format("{}/framework/transformer/{}", job, key), options});
    } else if (!experiment.jobs[i].spec.anchor) {
      choices.push_back({job + "/precision", {"fp32", "tf32", "fp16", "bf16"}});
    }
    const Value& input = experiment.jobs[i].spec.input;
    if (!experiment.jobs[i].input.synthetic)
      choices.push_back({job + (input && input.json().is_object() ? "/input/format" : "/input"),
                         {"synthetic", "tfrecord", "jpeg", "raw"}});
  }
  return choices;
}

Json value_now(const Point& point, const std::string& pointer)
{
  const Json::json_pointer at(pointer);
  return point.document->root.contains(at) ? point.document->root.at(at) : Json();
}

bool fit(const ResolvedExperiment& experiment)
{
  return std::all_of(experiment.jobs.begin(), experiment.jobs.end(), [&](const ResolvedJob& job) {
    return !job.transformer || plan_fits(job.transformer->step.memory, experiment.platform);
  });
}

// Of which job a pointer changes something; -1: of all.
int owner_of(const std::string& pointer)
{
  constexpr std::string_view kJobs = "/jobs/";
  return pointer.starts_with(kJobs) ? std::stoi(pointer.substr(kJobs.size())) : -1;
}

// Whether a choice is advice for the job: not one that costs another job, whose choice it is, what
// this one gains.
bool concerns(const std::string& pointer, const std::vector<double>& gains, std::size_t job)
{
  const int owner = owner_of(pointer);
  return owner < 0 || static_cast<std::size_t>(owner) == job ||
         gains[static_cast<std::size_t>(owner)] > -kSameRate;
}

} // namespace

std::vector<std::string> transports_between_nodes(const Value& root)
{
  std::vector<std::string> names;
  for (const std::string& name : preset_names(platforms::kTransportKind))
    if (!platforms::load_transport(preset_reference(name, root)).one_machine)
      names.push_back(name);
  return names;
}

std::vector<std::vector<SwapGain>> swapped(const Point& point, const ResolvedExperiment& experiment,
                                           const std::vector<double>& base,
                                           const RunOptions& options)
{
  std::vector<std::vector<SwapGain>> swaps(base.size());
  for (const Alternative& choice : choices_of(experiment, Value(point.document))) {
    const Json now = value_now(point, choice.pointer);
    for (const std::string& option : choice.options) {
      if (now == option)
        continue;
      try {
        auto document = std::make_shared<Document>(*point.document);
        set_choice(*document, choice.pointer, option);
        const ResolvedExperiment changed =
            resolve({point.settings, std::move(document), point.profiles, point.anchored});
        if (fit(experiment) && !fit(changed))
          continue;
        const auto rates = throughputs_with(changed, {}, 1, options);
        const std::vector<double> gains = gains_over(base, rates);
        if (std::any_of(gains.begin(), gains.end(),
                        [](double gain) { return std::abs(gain) > kSameRate; }))
          for (std::size_t job = 0; job < gains.size(); ++job)
            if (concerns(choice.pointer, gains, job))
              swaps[job].push_back({choice.pointer, now, option, gains[job]});
      } catch (const ConfigError&) { // it does not fit this machine
        continue;
      }
    }
  }
  for (auto& of_job : swaps)
    std::stable_sort(of_job.begin(), of_job.end(),
                     [](const SwapGain& a, const SwapGain& b) { return a.gain > b.gain; });
  return swaps;
}

} // namespace foretrain::experiments
