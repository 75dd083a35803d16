#include "experiments/resolve.hpp"

#include "experiments/place_servers.hpp"
#include "experiments/placement.hpp"
#include "experiments/resolve_checks.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

const platforms::Precision* precision_of(const platforms::Gpu& gpu, const std::string& name)
{
  const auto& chosen = name == "fp32"   ? gpu.fp32
                       : name == "tf32" ? gpu.tf32
                       : name == "fp16" ? gpu.fp16
                                        : gpu.bf16;
  return chosen ? &*chosen : nullptr;
}

models::Device device_for(const platforms::PlatformSpec& platform, const platforms::Stack& stack,
                          const JobSpec& job, const Value& at)
{
  const platforms::Gpu& gpu = platform.gpu;
  const platforms::Precision* dense = precision_of(gpu, job.precision);
  if (dense == nullptr) {
    std::string known;
    for (const char* name : {"fp32", "tf32", "fp16", "bf16"})
      if (precision_of(gpu, name) != nullptr)
        known += std::string(known.empty() ? "" : ", ") + name;
    at.fail_at("precision",
               fmt::format("is '{}', for which the {} has no rate", job.precision, gpu.name),
               "it has: " + known);
  }
  const platforms::Precision& ordinary = gpu.fp32 ? *gpu.fp32 : *dense;
  const BytesPerSecond memory = gpu.memory_efficiency * gpu.memory_bandwidth;
  const Seconds launch = gpu.kernel_launch + stack.host.kernel_launch;
  models::Device device;
  device.dense = {dense->peak,  dense->dense_efficiency, Flops(dense->ramp_flops), memory, launch,
                  gpu.on_host()};
  device.ordinary = {ordinary.peak, 1.0,           Flops(0),         memory,
                     launch,        gpu.on_host(), gpu.function_time};
  const bool half = job.precision == "fp16" || job.precision == "bf16";
  for (sim::Roofline* rate : {&device.dense, &device.ordinary}) {
    rate->cache = gpu.cache;
    rate->cached = gpu.cache_bandwidth;
  }
  device.bytes_per_element = half ? 2 : 4;
  device.master_weights = half;
  device.minimal_filtering = job.precision == "fp32";
  return device;
}

int default_steps(int gpus)
{
  return std::clamp(1280 / std::max(1, gpus), 3, 20);
}

// The profile as the anchor stretches it: measured on bare metal, what the host layer adds comes on
// top.
void apply_anchor(ResolvedJob& job, const ResolvedExperiment& e, const Value& at)
{
  const JobSpec& spec = job.spec;
  platforms::Stack bare = job.stack;
  bare.host = platforms::Host{};
  models::Device device = device_for(e.platform, bare, spec, at);
  device.fused_elementwise = job.framework.fused_elementwise;
  const auto profile = models::compute_profile(job.network, spec.batch_per_gpu, device);
  const Seconds step(spec.batch_per_gpu / spec.anchor->samples_per_s);
  const Seconds kernels = step - job.framework.step_overhead;
  if (kernels.value() <= 0)
    at.fail_at("anchor", fmt::format("leaves no time for computing: a step of {} takes {:.3g} ms, "
                                     "of which the framework needs {:.3g} ms",
                                     spec.batch_per_gpu, step.value() * 1e3,
                                     job.framework.step_overhead.value() * 1e3));
  job.anchor_factor = kernels / profile.total();
  job.profile = job.profile.scaled(job.anchor_factor);
  if (job.anchor_factor < 0.5 || job.anchor_factor > 2)
    job.warnings.push_back(fmt::format("{}: the anchor of {:g} samples/s is {:.2f} times what "
                                       "the roofline says for this GPU, model, "
                                       "precision and batch; is it the rate of one GPU?",
                                       spec.name, spec.anchor->samples_per_s,
                                       1 / job.anchor_factor));
}

ResolvedJob resolve_job(const JobSpec& spec, const Value& at, const ResolvedExperiment& e,
                        const platforms::Stack& stack)
{
  ResolvedJob job;
  job.spec = spec;
  job.stack = stack;
  job.network = models::load_network(resolve_preset(spec.model, models::kNetworkKind));
  job.framework = models::load_framework(spec.framework);
  if (!job.framework.library)
    job.framework.library = preset_reference("nccl", spec.framework);
  job.library = models::load_library(job.framework.library);
  job.device = device_for(e.platform, stack, spec, at);
  job.device.fused_elementwise = job.framework.fused_elementwise;
  job.device.kernels = job.framework.kernels;
  job.profile = models::compute_profile(job.network, spec.batch_per_gpu, job.device);
  if (spec.anchor)
    apply_anchor(job, e, at);
  // Host work costs more where the host layer takes its part of it.
  for (Seconds* work : {&job.framework.step_overhead, &job.framework.coordination,
                        &job.framework.coordination_per_rank})
    *work = stack.host.cpu_overhead * *work;
  job.input = resolve_input(spec, job.network, job.framework);
  const Bytes needed = models::training_memory(job.network, spec.batch_per_gpu, job.device);
  if (needed > e.platform.gpu.memory)
    job.warnings.push_back(fmt::format("{}: about {} of device memory are needed, a {} has {}",
                                       spec.name, to_text(needed), e.platform.gpu.name,
                                       to_text(e.platform.gpu.memory)));
  job.measured_steps = spec.steps.value_or(default_steps(spec.gpus));
  return job;
}

// Fills in what the file leaves to its default: the experiment's stack for a job, bare metal and
// the adapters' own transport for the experiment.
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
  return {platforms::load_host(spec.host), platforms::load_transport(spec.transport)};
}

// The point's document with an overlay that notes which presets are resolved.
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
  return {point.settings, std::move(document), point.profiles};
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

} // namespace

ResolvedExperiment resolve(const Point& given)
{
  const auto uses = std::make_shared<std::vector<PresetUse>>();
  const Point point = noting_presets(given, uses);
  ResolvedExperiment e;
  const Value root(point.document);
  e.spec = read_point(point);
  e.platform = platforms::load_platform(e.spec.cluster.platform);
  e.stack = resolve_stack(e.spec.stack, nullptr, e.platform, root);
  const int per_node = e.platform.gpus_per_node();
  if (per_node == 0)
    root.at("cluster").fail_at("platform", "has no GPUs: '" + e.platform.name + "'");
  int wanted = 0;
  int listed = 0;
  for (const JobSpec& job : e.spec.jobs) {
    wanted += job.placement && job.placement.json().is_array() ? 0 : job.gpus;
    listed = std::max(listed, listed_nodes(job));
  }
  e.nodes = e.spec.cluster.nodes.value_or(
      std::min(std::max({1, listed, (wanted + per_node - 1) / per_node}), e.platform.max_nodes));
  if (e.nodes > e.platform.max_nodes)
    root.at("cluster").fail_at("nodes", fmt::format("is {}, but '{}' has at most {} nodes", e.nodes,
                                                    e.platform.name, e.platform.max_nodes));
  Placer placer(e.nodes, per_node);
  for (std::size_t i = 0; i < e.spec.jobs.size(); ++i) {
    const Value at = root.at("jobs").at(i);
    StackSpec own = e.spec.jobs[i].stack.value_or(StackSpec{});
    const auto stack = resolve_stack(own, &e.spec.stack, e.platform, root);
    e.jobs.push_back(resolve_job(e.spec.jobs[i], at, e, stack));
    e.jobs.back().ranks = placer.place(e.spec.jobs[i], at);
    e.jobs.back().spec.gpus = static_cast<int>(e.jobs.back().ranks.size());
  }
  place_servers(e, root);
  resolve_storage(e, root);
  e.presets = *uses;
  check_networks(e, root);
  add_remarks(e);
  return e;
}

} // namespace foretrain::experiments
