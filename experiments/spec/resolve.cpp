#include "experiments/spec/resolve.hpp"

#include "experiments/spec/anchor.hpp"
#include "experiments/spec/anchored_profile.hpp"
#include "experiments/spec/fitting_plan.hpp"
#include "experiments/spec/idle_keys.hpp"
#include "experiments/spec/job_device.hpp"
#include "experiments/spec/job_framework.hpp"
#include "experiments/spec/levers.hpp"
#include "experiments/spec/measured_job.hpp"
#include "experiments/spec/place_servers.hpp"
#include "experiments/spec/placement.hpp"
#include "experiments/spec/remarks.hpp"
#include "experiments/spec/resolve_checks.hpp"
#include "experiments/spec/take_sockets.hpp"
#include "experiments/spec/training_length.hpp"
#include "experiments/spec/transformer_setting.hpp"
#include "sim/workload/program_file.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

namespace foretrain::experiments {

using sim::Precision;

namespace {

// Their steps have hundreds of exchanges each and differ by little.
constexpr int kStepsOfTransformers = 5;

int most_on_a_node(const std::vector<platforms::GpuPlace>& ranks)
{
  std::map<int, int> gpus;
  int most = 0;
  for (const auto& place : ranks)
    most = std::max(most, ++gpus[place.node]);
  return most;
}

// Nodes that hold as many ranks each, one after the other; 1 where they do not.
int even_nodes(const std::vector<platforms::GpuPlace>& ranks)
{
  const int most = most_on_a_node(ranks);
  const auto count = static_cast<int>(ranks.size());
  if (most == 0 || count % most != 0)
    return 1;
  for (int i = 0; i < count; ++i)
    if (ranks[static_cast<std::size_t>(i)].node !=
        ranks[static_cast<std::size_t>(i - i % most)].node)
      return 1;
  return count / most;
}

// `program show --format json` prints the programs of a point's jobs.
Value only_program(const Value& file)
{
  if (!file.json().contains("jobs") || file.json().contains("operations"))
    return file;
  const Value jobs = file.at("jobs");
  if (!jobs.json().is_array() || jobs.json().size() != 1)
    jobs.fail("must hold the program of one job, got " + jobs.shown(),
              "each element by itself is a program's file");
  return jobs.at(0);
}

// A job that was handed over as a program: kernels have times, the machine is simulated.
void resolve_program(ResolvedJob& job, const Value& at, const ResolvedExperiment& e)
{
  if (job.spec.epochs)
    at.fail_at("epochs", "is of a program, which has no data set",
               "say how long the training is in \"training_steps\"");
  job.framework = framework_of(job.spec, e.platform.gpu);
  job.library = models::load_device_library(job.framework.library);
  job.device = device_for(e.platform, job.stack, job.spec, job.framework, at);
  auto plan = std::make_shared<models::WorkPlan>();
  sim::ProgramSpec spec;
  const Value file = only_program(resolve_preset(job.spec.program, sim::kProgramKind));
  plan->program = sim::read_program(file, spec);
  check_algorithms(file, plan->program.groups);
  const auto& operations = plan->program.operations;
  if (std::none_of(operations.begin(), operations.end(),
                   [](const sim::Operation& op) { return op.amount > 0 || sim::of_group(op); }))
    file.fail_at("operations", "take no time at all");
  plan->samples_per_step = spec.samples_per_step;
  plan->one_gpu = spec.one_gpu_samples_per_s;
  plan->step_variation = spec.step_variation;
  plan->summary = spec.summary;
  if (spec.device_memory_byte > 0)
    plan->memory.push_back({"all", Bytes(spec.device_memory_byte)});
  else
    job.warnings.push_back(job.spec.name + ": whether it fits is not known: its program tells no "
                                           "\"device_memory_byte\"");
  int devices = 0, stood_for = 0;
  for (const sim::WorkRank& rank : plan->program.ranks)
    devices = std::max(devices, rank.device + 1);
  for (const sim::WorkGroup& group : plan->program.groups)
    for (const auto& set : group.devices)
      for (const int device : set)
        devices = std::max(devices, device + 1);
  for (const sim::WorkRank& rank : plan->program.ranks)
    stood_for += rank.stands_for;
  devices = std::max(devices, stood_for);
  if (devices != job.spec.gpus)
    at.fail_at("gpus",
               fmt::format("is {}, but the program has work for {}", job.spec.gpus, devices));
  if (const std::string idle = idle_keys_of_program(job.spec, at); !idle.empty())
    job.warnings.push_back(idle);
  if (std::ranges::any_of(operations,
                          [](const sim::Operation& op) { return op.kind == sim::WorkKind::fetch; }))
    job.warnings.push_back(job.spec.name + ": its program fetches batches, which are taken to be "
                                           "there: reading and decoding are in no program");
  job.plan = std::move(plan);
  job.measured_steps = job.spec.steps.value_or(default_steps(job.spec.gpus));
}

void check_trains(const ResolvedJob& job, const Value& at)
{
  if (!job.framework.trains && job.spec.mode == JobMode::train)
    at.fail_at("framework", "is " + job.framework.name + ", which does not train",
               "set \"mode\": \"inference\", or another framework");
}

// Gradients between nodes by another library than on one.
bool changes_library(const ResolvedJob& job)
{
  return job.framework.library_between_nodes && !job.spec.library &&
         most_on_a_node(job.ranks) < job.spec.gpus;
}

void resolve_transformer(ResolvedJob& job, const Value& at, const ResolvedExperiment& e)
{
  if (job.spec.epochs && counts_epochs(job.spec))
    job.input.dataset = models::load_dataset(resolve_preset(
        resolve_preset(job.spec.model, models::kNetworkKind).at("dataset"), models::kDatasetKind));
  if (const std::string idle = idle_keys_of_transformer(job.spec, at); !idle.empty())
    job.warnings.push_back(idle);
  job.framework = framework_of(job.spec, e.platform.gpu);
  check_trains(job, at);
  if (changes_library(job))
    at.fail_at("framework",
               fmt::format("is '{}', which adds gradients between nodes by {}, and those of a "
                           "transformer are known by collectives among GPUs alone",
                           job.framework.name,
                           models::load_library(job.framework.library_between_nodes).name),
               "GPUs of one node, \"library\": \"nccl\", or another framework, such as "
               "pytorch-ddp or nemo");
  job.library = models::load_device_library(job.framework.library);
  const auto setting = std::make_shared<const TransformerSetting>(transformer_setting(
      job.spec, at, job.framework, e.platform, job.stack, most_on_a_node(job.ranks)));
  job.transformer = setting;
  tell_anchor(job);
  for (const std::string& warning : setting->warnings)
    job.warnings.push_back(warning);
  job.framework.start = job.stack.host.cpu_overhead * job.framework.start;
  if (const std::string misfit =
          why_not_fitting(*setting, job.spec.name, e.platform, job.framework.plans);
      !misfit.empty())
    job.warnings.push_back(misfit);
  job.measured_steps = job.spec.steps.value_or(kStepsOfTransformers);
}

void check_memory(ResolvedJob& job, const platforms::Gpu& gpu)
{
  const Bytes needed = device_memory(job);
  if (needed > gpu.memory)
    job.warnings.push_back(job.spec.name + ": " + memory_text(needed, gpu));
}

// What follows the model's times, whatever they came from.
void finish_job(ResolvedJob& job, const Value& at, const ResolvedExperiment& e)
{
  const JobSpec& spec = job.spec;
  // Host work costs more where the host layer takes its part of it.
  for (Seconds* work : {&job.framework.step_overhead, &job.framework.coordination,
                        &job.framework.coordination_per_rank, &job.framework.start})
    *work = job.stack.host.cpu_overhead * *work;
  job.input = resolve_input(spec, job.network, job.framework);
  if (spec.mode == JobMode::inference && spec.epochs)
    at.fail_at("epochs", "is about training, and the job's \"mode\" is inference");
  if (const std::string idle = idle_keys_of_inference(spec, at); !idle.empty())
    job.warnings.push_back(idle);
  if (!job.network.dataset_named && !job.input.spec.dataset &&
      (spec.epochs || !job.input.synthetic))
    job.warnings.push_back(fmt::format(
        "{}: '{}' names no data set; '{}' ({:.0f} samples) is assumed. Say \"input\": {{ "
        "\"format\": "
        "..., \"dataset\": ... }}, or \"dataset\" in the model's file",
        spec.name, job.network.name, job.input.dataset.name, job.input.dataset.samples));
  check_memory(job, e.platform.gpu);
  job.measured_steps = spec.steps.value_or(default_steps(spec.gpus));
}

// `job` has its place on the machine; `measured`: where the rate of one GPU was, if elsewhere.
ResolvedJob resolve_job(ResolvedJob job, const Value& at, const ResolvedExperiment& e,
                        const std::optional<ResolvedExperiment>& measured)
{
  const JobSpec& spec = job.spec;
  if (spec.program && spec.model)
    at.fail_at("model", "stands beside a program: a job has one of them");
  if (const std::string idle = idle_keys_of_input(spec); !idle.empty())
    job.warnings.push_back(idle);
  if (has_transformer(spec)) {
    resolve_transformer(job, at, e);
    remark_untold(job, at, e.platform.gpu);
    return job;
  }
  if (const std::string idle = idle_keys_of_other(spec, at); !idle.empty())
    job.warnings.push_back(idle);
  if (spec.program) {
    check_accumulation(job, at);
    resolve_program(job, at, e);
    return job;
  }
  if (!spec.model)
    at.fail_at("model", "is missing");
  job.network = models::load_network(resolve_preset(spec.model, models::kNetworkKind));
  if (job.network.measured)
    take_as_recorded(job, e.platform, at);
  job.framework = framework_of(spec, e.platform.gpu);
  if (spec.batch_per_gpu < 1)
    at.fail_at("batch_per_gpu", "is missing");
  check_accumulation(job, at);
  check_trains(job, at);
  if (changes_library(job))
    job.framework.library = job.framework.library_between_nodes;
  job.library = models::load_library(job.framework.library);
  job.device = device_for(e.platform, job.stack, spec, job.framework, at);
  job.device.nodes = even_nodes(job.ranks);
  job.optimizer = models::load_optimizer(
      spec.optimizer ? spec.optimizer : preset_reference(job.network.optimizer, spec.model));
  if (job.optimizer.newton_schulz)
    at.fail_at("optimizer",
               "is " + job.optimizer.name + ", whose products are known of transformers alone",
               "\"sgd-momentum\" or \"adamw\"");
  job.device.optimizer = job.optimizer;
  if (job.network.measured)
    use_measured_times(job, e.platform, at);
  else
    job.profile = profile_of(job, job.device);
  if (measured) {
    take_anchor_of(job, e, *measured);
  } else if (spec.anchor && !anchored_by_runs(spec)) {
    apply_anchor(job, e, at);
  } else {
    job.anchor_factor = spec.kernel_time;
    job.profile =
        models::lengthened(job.profile, models::lengthening_of(job.profile, spec.kernel_time));
  }
  job.profile = models::lengthened(job.profile, {platforms::typical_guest(job.stack.host.quality)});
  tell_anchor(job);
  remark_untold(job, at, e.platform.gpu);
  finish_job(job, at, e);
  return job;
}

// Where the jobs' data lies, if any of them reads any.
void resolve_storage(ResolvedExperiment& e, const Value& root)
{
  const bool reads = std::any_of(e.jobs.begin(), e.jobs.end(),
                                 [](const ResolvedJob& job) { return !job.input.synthetic; });
  const Value& given = e.spec.cluster.storage;
  e.storage_at = given ? given : root.at("cluster");
  if (given)
    e.storage = platforms::load_storage(given);
  if (given && !reads) {
    e.storage.reset();
    e.jobs.front().warnings.push_back("\"storage\" has no influence: every job's input is "
                                      "synthetic");
  } else if (!given && reads) {
    e.storage = platforms::load_storage(preset_reference("local-disk", root));
  }
}

// Ranks in a row that belong on one node: those that share each product of a transformer.
int ranks_together(const JobSpec& job)
{
  return has_transformer(job) ? job.parallel.value_or(models::ParallelPlan{}).tensor : 0;
}

// Jobs before this one that say the same, but for their names and when and where they run.
int alike_before(const ExperimentSpec& spec, const Value& root, std::size_t job)
{
  const auto said = [&](std::size_t i) {
    Json json = root.at("jobs").at(i).json();
    for (const char* key : {"name", "placement", "start"})
      json.erase(key);
    return json;
  };
  int alike = 0;
  if (spec.jobs.size() > 1)
    for (std::size_t other = 0; other < job; ++other)
      alike += said(other) == said(job) ? 1 : 0;
  return alike;
}

// What the cluster asks for joins the nodes in the network that jobs train over.
void use_fabric(ResolvedExperiment& e, const Value& root)
{
  if (!e.spec.cluster.fabric)
    return;
  const int network = platforms::find_network(e.platform, e.stack.transport).index;
  if (network < 0)
    root.at("cluster").fail_at("fabric", "joins nothing: '" + e.platform.name +
                                             "' has no network that '" + e.stack.transport.name +
                                             "' can run on");
  e.platform.fabrics[static_cast<std::size_t>(network)] =
      read_as<platforms::Fabric>(resolve_preset(e.spec.cluster.fabric, platforms::kFabricKind));
  platforms::limit_to_ports(e.platform);
}

} // namespace

int default_steps(int gpus)
{
  return std::clamp(1280 / std::max(1, gpus), 3, 20);
}

Point noting_presets(const Point& point, const std::shared_ptr<std::vector<PresetUse>>& uses)
{
  auto overlay =
      std::make_shared<Overlay>(point.document->overlay ? *point.document->overlay : Overlay{});
  // Documents hold the overlay and the list holds documents: a strong pointer would make a ring.
  overlay->seen = [list = std::weak_ptr(uses)](const PresetUse& use) {
    const auto known = list.lock();
    if (known && std::none_of(known->begin(), known->end(), [&](const PresetUse& other) {
          return other.kind == use.kind && other.id == use.id;
        }))
      known->push_back(use);
  };
  auto document = std::make_shared<Document>(*point.document);
  document->overlay = std::move(overlay);
  return {point.settings, std::move(document), point.profiles, point.anchored};
}

platforms::Stack resolve_stack(StackSpec& spec, const StackSpec* experiment,
                               const platforms::PlatformSpec& platform, const Value& root)
{
  const bool rdma = std::any_of(platform.nics.begin(), platform.nics.end(),
                                [](const platforms::Nic& nic) { return nic.rdma; });
  if (!spec.host)
    spec.host = experiment != nullptr ? experiment->host : preset_reference("bare-metal", root);
  if (!spec.transport)
    spec.transport = experiment != nullptr ? experiment->transport
                                           : preset_reference(rdma ? "rdma" : "tcp", root);
  platforms::Host host = platforms::load_host(spec.host);
  if (platform.guest && host.on_guests) {
    const std::string asked = host.name;
    host = platforms::load_host(host.on_guests);
    host.assumption = fmt::format("'{}' is told as its guests see it: host layer '{}' adds nothing "
                                  "to it, '{}' is taken",
                                  platform.name, asked, host.name);
  }
  return platforms::make_stack(std::move(host), platforms::load_transport(spec.transport));
}

ResolvedExperiment resolve(const Point& given)
{
  const auto uses = std::make_shared<std::vector<PresetUse>>();
  const Point point = noting_presets(given, uses);
  ResolvedExperiment e;
  const Value root(point.document);
  e.spec = read_point(point);
  e.platform = platforms::load_platform(e.spec.cluster.platform);
  e.stack = resolve_stack(e.spec.stack, nullptr, e.platform, root);
  use_fabric(e, root);
  const int per_node = e.platform.gpus_per_node();
  if (per_node == 0)
    root.at("cluster").fail_at("platform", "has no GPUs: '" + e.platform.name + "'");
  int wanted = 0;
  int listed = 0;
  std::vector<int> together; // of each job
  for (const JobSpec& job : e.spec.jobs) {
    together.push_back(ranks_together(job));
    wanted += job.placement && job.placement.json().is_array() ? 0 : job.gpus;
    listed = std::max(listed, listed_nodes(job));
  }
  const bool alone = e.spec.jobs.size() == 1 && wanted > 0;
  const int needed =
      alone ? nodes_for(e.spec.jobs[0], per_node, together[0]) : (wanted + per_node - 1) / per_node;
  if (!e.spec.cluster.nodes && needed > e.platform.max_nodes)
    root.at("cluster").fail_at(
        "platform",
        fmt::format("has at most {} node{}, and {} are needed: '{}'", e.platform.max_nodes,
                    e.platform.max_nodes == 1 ? "" : "s", needed, e.platform.name),
        fmt::format("fewer GPUs, or a larger one: {{\"extends\": \"{}\", \"max_nodes\": {}{}}}",
                    e.platform.name, needed,
                    e.platform.networks.empty() ? ", \"networks\": [...]" : ""));
  e.nodes =
      e.spec.cluster.nodes.value_or(std::min(std::max({1, listed, needed}), e.platform.max_nodes));
  if (e.nodes > e.platform.max_nodes)
    root.at("cluster").fail_at("nodes", fmt::format("is {}, but '{}' has at most {} node{}",
                                                    e.nodes, e.platform.name, e.platform.max_nodes,
                                                    e.platform.max_nodes == 1 ? "" : "s"));
  Placer placer(e.nodes, per_node);
  for (std::size_t i = 0; i < e.spec.jobs.size(); ++i) {
    const Value at = root.at("jobs").at(i);
    ResolvedJob job;
    job.spec = e.spec.jobs[i];
    job.number = i;
    job.chance = alike_before(e.spec, root, i);
    job.ranks = placer.place(job.spec, at, together[i]);
    job.spec.gpus = static_cast<int>(job.ranks.size());
    StackSpec own = job.spec.stack.value_or(StackSpec{});
    job.stack = resolve_stack(own, &e.spec.stack, e.platform, root);
    check_training_length(job.spec, at);
    std::optional<ResolvedExperiment> measured;
    if (const auto then = measured_elsewhere(point, e.spec.jobs[i], i))
      measured = resolve(*then);
    e.jobs.push_back(resolve_job(std::move(job), at, e, measured));
    check_library(e.jobs.back(), at);
    check_algorithm(e.jobs.back());
    if (e.jobs.back().network.measured)
      use_recorded_exchanges(e.jobs.back(), e.platform, at);
  }
  place_servers(e, root);
  take_sockets(e);
  resolve_storage(e, root);
  static_cast<void>(price_per_gpu_hour(e.spec.cluster.price_per_gpu_hour, e.spec.cluster.platform,
                                       e.platform.name));
  add_length_warnings(e);
  e.presets = *uses;
  check_networks(e, root);
  check_tables(e, root);
  add_remarks(e);
  make_better(e);
  return e;
}

} // namespace foretrain::experiments
