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
  std::vector<Json> options;
};

Alternative of_names(std::string pointer, const std::vector<std::string>& names)
{
  return {std::move(pointer), std::vector<Json>(names.begin(), names.end())};
}

// What programs of today have for experts (docs/large-models.md).
std::vector<Alternative> rules_for_experts()
{
  return {of_names("dispatcher", words_of<models::Dispatcher>()),
          of_names("cuda_graphs", words_of<models::CudaGraphs>())};
}

// Whether a job's stack says that by itself.
bool own_host(const ResolvedJob& job)
{
  return job.spec.stack && job.spec.stack->host;
}
bool own_network(const ResolvedJob& job)
{
  return job.spec.stack && job.spec.stack->transport;
}

// Networks that lead from node to node, for a job on its host.
std::vector<std::string> networks_for(const platforms::Stack& stack, bool guest, const Value& root)
{
  const bool in_guests = guest || stack.host.guest_network;
  std::vector<std::string> names = preset_names(platforms::kTransportKind);
  std::erase_if(names, [&](const std::string& name) {
    const auto transport = platforms::load_transport(preset_reference(name, root));
    return transport.one_machine || (transport.of_guests && !in_guests);
  });
  return names;
}

// What can be bought for a machine, or is rented with it.
std::vector<std::string> storage_for(const platforms::PlatformSpec& platform, const Value& root)
{
  std::vector<std::string> names = preset_names(platforms::kStorageKind);
  if (!platform.guest)
    std::erase_if(names, [&](const std::string& name) {
      return platforms::load_storage(preset_reference(name, root)).cloud;
    });
  return names;
}

// The experiment's stack for those jobs that have no other one, and each other one.
void add_stacks(std::vector<Alternative>& choices, const ResolvedExperiment& experiment,
                const Value& root)
{
  const bool guest = experiment.platform.guest;
  const auto add = [&](const std::string& at, const platforms::Stack& stack, bool host,
                       bool network) {
    if (host)
      choices.push_back(of_names(at + "/host", preset_names(platforms::kHostKind)));
    if (network && experiment.nodes > 1)
      choices.push_back(of_names(at + "/network", networks_for(stack, guest, root)));
  };
  add("/stack", experiment.stack, !std::ranges::all_of(experiment.jobs, own_host),
      !std::ranges::all_of(experiment.jobs, own_network));
  for (std::size_t i = 0; i < experiment.jobs.size(); ++i)
    add(fmt::format("/jobs/{}/stack", i), experiment.jobs[i].stack, own_host(experiment.jobs[i]),
        own_network(experiment.jobs[i]));
}

// As many threads that decode as there are cores, and half of these: frameworks start more.
std::vector<Json> decoding_threads(const ResolvedExperiment& experiment)
{
  const int cores = experiment.platform.cpu.cores * experiment.platform.node.sockets;
  return {cores, std::max(1, cores / 2)};
}

// A rule of a job's framework, where the job can say it: beside the rules that it says already, or
// with a framework that is an object for it.
Alternative of_framework(const std::string& job, const Json& framework, const Alternative& rule)
{
  const bool named = framework.is_string();
  const bool says_rules = !named && framework.contains("transformer");
  Alternative choice{job + "/framework", {}};
  if (!named)
    choice.pointer += "/transformer";
  if (says_rules)
    choice.pointer += "/" + rule.pointer;
  for (const Json& option : rule.options) {
    const Json rules = {{rule.pointer, option}};
    choice.options.push_back(says_rules ? option
                             : named    ? Json{{"extends", framework}, {"transformer", rules}}
                                        : rules);
  }
  return choice;
}

std::vector<Alternative> choices_of(const ResolvedExperiment& experiment, const Value& root)
{
  std::vector<Alternative> choices;
  add_stacks(choices, experiment, root);
  if (experiment.storage)
    choices.push_back(of_names("/cluster/storage", storage_for(experiment.platform, root)));
  for (std::size_t i = 0; i < experiment.jobs.size(); ++i) {
    const std::string job = fmt::format("/jobs/{}", i);
    const bool transformer = experiment.jobs[i].transformer != nullptr;
    if (!experiment.jobs[i].network.measured) // recorded times hold for what ran then
      choices.push_back(of_names(job + "/framework",
                                 frameworks(experiment.jobs[i], experiment.platform.gpu, root)));
    // A measured rate holds for one precision.
    if (transformer) {
      choices.push_back({job + "/precision", {"fp16", "bf16", "fp8", "mxfp8", "nvfp4"}});
      choices.push_back({job + "/recompute", {"none", "selective", "full"}});
      if (experiment.jobs[i].transformer->step.memory.model.experts > 0)
        for (const Alternative& rule : rules_for_experts())
          choices.push_back(of_framework(
              job, root.at("jobs").at(i).json().value("framework", Json::object()), rule));
    } else if (!experiment.jobs[i].spec.anchor) {
      choices.push_back({job + "/precision", {"fp32", "tf32", "fp16", "bf16"}});
    }
    if (!experiment.jobs[i].input.synthetic) {
      choices.push_back({job + "/input/format", {"synthetic", "tfrecord", "jpeg", "raw"}});
      choices.push_back({job + "/input/threads", decoding_threads(experiment)});
    }
  }
  return choices;
}

Json value_now(const Point& point, const std::string& pointer)
{
  const Json::json_pointer at(pointer);
  const Json& root = point.document->root;
  const Json::json_pointer in = at.parent_pointer();
  if (pointer.ends_with("/input/format") && root.contains(in) && root.at(in).is_string())
    return root.at(in); // in one word
  return root.contains(at) ? root.at(at) : Json();
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

// Whether a choice is one of the job's own: the experiment's stack is not where it has another one.
bool is_own(const std::string& pointer, const ResolvedJob& job)
{
  const int owner = owner_of(pointer);
  return owner >= 0                    ? static_cast<std::size_t>(owner) == job.number
         : pointer == "/stack/host"    ? !own_host(job)
         : pointer == "/stack/network" ? !own_network(job)
                                       : true;
}

// Whether a choice is advice for the job: not one that costs another job, whose choice it is, what
// this one gains.
bool concerns(const std::string& pointer, const std::vector<double>& gains,
              const std::vector<ResolvedJob>& jobs, std::size_t job)
{
  if (is_own(pointer, jobs[job]))
    return true;
  for (std::size_t other = 0; other < jobs.size(); ++other)
    if (is_own(pointer, jobs[other]) && gains[other] <= -kSameRate)
      return false;
  return true;
}

} // namespace

std::vector<std::vector<SwapGain>> swapped(const Point& point, const ResolvedExperiment& experiment,
                                           const std::vector<double>& base,
                                           const RunOptions& options)
{
  std::vector<std::vector<SwapGain>> swaps(base.size());
  for (const Alternative& choice : choices_of(experiment, Value(point.document))) {
    const Json now = value_now(point, choice.pointer);
    for (const Json& option : choice.options) {
      if (now == option)
        continue;
      try {
        auto document = std::make_shared<Document>(*point.document);
        set_in_experiment(*document, choice.pointer, option, "explain");
        const ResolvedExperiment changed =
            resolve({point.settings, std::move(document), point.profiles, point.anchored});
        if (fit(experiment) && !fit(changed))
          continue;
        const auto rates = throughputs_with(changed, {}, 1, options);
        const std::vector<double> gains = gains_over(base, rates);
        if (std::any_of(gains.begin(), gains.end(),
                        [](double gain) { return std::abs(gain) > kSameRate; }))
          for (std::size_t job = 0; job < gains.size(); ++job)
            if (concerns(choice.pointer, gains, experiment.jobs, job))
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
