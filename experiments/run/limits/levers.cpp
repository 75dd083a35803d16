#include "experiments/run/limits/levers.hpp"

#include "experiments/run/limits/transformer_levers.hpp"
#include "experiments/run/simulate/stage.hpp"
#include "models/training/work_plan.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

int as_many(int number, double factor)
{
  return static_cast<int>(std::ceil(number * factor - 1e-9));
}

// Operations of one kind in a job that is written as a program, `factor` times as fast.
void faster_operations(ResolvedJob& job, sim::WorkKind kind, double factor)
{
  if (!job.plan)
    return;
  auto plan = std::make_shared<models::WorkPlan>(*job.plan);
  for (sim::Operation& operation : plan->program.operations)
    if (operation.kind == kind)
      operation.amount /= factor;
  job.plan = std::move(plan);
}

void faster_gpus(ResolvedExperiment& e, double factor)
{
  e.platform.gpu.memory_bandwidth *= factor;
  for (ResolvedJob& job : e.jobs) {
    job.profile = job.profile.scaled(1 / factor);
    faster_operations(job, sim::WorkKind::compute, factor);
    faster_kernels(job, factor);
  }
}

void faster_nvlink(ResolvedExperiment& e, double factor)
{
  e.platform.gpu.nvlink_brick *= factor;
}

// PCIe has whole generations only: the stage scales what links it makes.
void faster_pcie(ResolvedExperiment& e, double factor)
{
  e.pcie_scale *= factor;
  for (ResolvedJob& job : e.jobs)
    faster_host_link(job, factor);
}

void faster_adapters(ResolvedExperiment& e, double factor)
{
  for (platforms::Nic& nic : e.platform.nics)
    nic.rate *= factor;
}

void faster_switches(ResolvedExperiment& e, double factor)
{
  for (platforms::Fabric& fabric : e.platform.fabrics)
    fabric.port_rate *= factor;
}

void more_cores(ResolvedExperiment& e, double factor)
{
  e.platform.cpu.cores = as_many(e.platform.cpu.cores, factor);
  for (ResolvedJob& job : e.jobs)
    if (job.spec.cores)
      *job.spec.cores *= factor;
}

void faster_on_cores(platforms::Stack& stack, double factor)
{
  stack.transport.cpu_per_segment *= 1 / factor;
  stack.transport.cpu_per_packet *= 1 / factor;
  stack.transport.copy_rate *= factor;
  stack.host.cpu_per_packet *= 1 / factor;
  stack.host.cpu_per_disk_request *= 1 / factor;
}

void faster_cores(ResolvedExperiment& e, double factor)
{
  e.platform.cpu.clock *= factor;
  e.platform.cpu.copy_rate *= factor;
  faster_on_cores(e.stack, factor);
  if (e.storage)
    e.storage->open_cpu *= 1 / factor;
  for (ResolvedJob& job : e.jobs) {
    faster_on_cores(job.stack, factor);
    if (job.framework.servers)
      job.framework.servers->sum_rate *= factor;
    if (job.library.host) {
      job.library.host->sum_rate *= factor;
      job.library.host->half_sum_rate *= factor;
    }
  }
}

void more_threads(ResolvedExperiment& e, double factor)
{
  for (ResolvedJob& job : e.jobs) {
    auto& settings = job.input.settings;
    for (auto* threads : {&settings.threads_per_gpu, &settings.threads_per_node})
      if (*threads)
        **threads *= factor;
    if (job.input.spec.threads)
      *job.input.spec.threads *= factor;
  }
}

void faster_memory(ResolvedExperiment& e, double factor)
{
  e.platform.cpu.memory_bandwidth *= factor;
}

void more_memory(ResolvedExperiment& e, double factor)
{
  e.platform.node.memory *= factor;
  for (ResolvedJob& job : e.jobs)
    if (job.spec.memory)
      *job.spec.memory *= factor;
}

void faster_disk(platforms::Disk& disk, double factor)
{
  disk.read *= factor;
  disk.write *= factor;
  disk.read_operations *= factor;
  disk.latency *= 1 / factor;
}

void faster_disks(ResolvedExperiment& e, double factor)
{
  for (platforms::Disk& disk : e.platform.disks)
    faster_disk(disk, factor);
  if (!e.storage)
    return;
  faster_disk(e.storage->disk_type, factor);
  if (e.storage->servers) {
    e.storage->servers->rate *= factor;
    e.storage->servers->operations *= factor;
  }
}

void faster_server_links(ResolvedExperiment& e, double factor)
{
  if (!e.storage || !e.storage->servers)
    return;
  e.storage->servers->link *= factor;
  e.storage->gateway *= factor;
}

void faster_servers(ResolvedExperiment& e, double factor)
{
  if (!e.storage || !e.storage->servers)
    return;
  e.storage->servers->cpu_per_operation *= 1 / factor;
  e.storage->servers->cpu_per_metadata *= 1 / factor;
  if (e.storage->server_cpu)
    e.storage->server_cpu->cores = as_many(e.storage->server_cpu->cores, factor);
}

void more_mounts(ResolvedExperiment& e, double factor)
{
  if (!e.storage)
    return;
  e.storage->connections = as_many(e.storage->connections, factor);
  e.storage->latency *= 1 / factor;
}

void more_connections(ResolvedExperiment& e, double factor)
{
  e.stack.transport.connections = as_many(e.stack.transport.connections, factor);
  for (ResolvedJob& job : e.jobs)
    job.stack.transport.connections = as_many(job.stack.transport.connections, factor);
}

void shorter_hops(models::HopLatency& hop, double factor)
{
  for (Seconds* latency : {&hop.nvlink, &hop.pcie, &hop.network})
    *latency *= 1 / factor;
}

void shorter_latencies(ResolvedExperiment& e, double factor)
{
  const double part = 1 / factor;
  e.platform.gpu.copy_latency *= part;
  e.platform.gpu.peer_latency *= part;
  e.platform.gpu.host_hop_latency *= part;
  for (platforms::Nic& nic : e.platform.nics)
    nic.latency *= part;
  for (platforms::Fabric& fabric : e.platform.fabrics)
    fabric.switch_latency *= part;
  e.stack.transport.latency *= part;
  e.stack.host.network_latency *= part;
  for (ResolvedJob& job : e.jobs) {
    job.stack.transport.latency *= part;
    job.stack.host.network_latency *= part;
    for (models::Protocol& protocol : job.library.protocols) {
      for (Seconds* base : {&protocol.ring_base, &protocol.tree_base, &protocol.in_switch_base})
        *base *= part;
      shorter_hops(protocol.ring_hop, factor);
      shorter_hops(protocol.tree_hop, factor);
    }
  }
}

void leaner_framework(ResolvedExperiment& e, double factor)
{
  const double part = 1 / factor;
  for (ResolvedJob& job : e.jobs) {
    faster_operations(job, sim::WorkKind::host, factor);
    leaner_host(job, factor);
    job.framework.step_overhead *= part;
    job.framework.coordination *= part;
    job.framework.coordination_per_rank *= part;
    job.framework.fusion_cycle *= part;
    job.library.host_launch *= part;
    if (job.framework.servers)
      job.framework.servers->message *= part;
  }
}

void steadier_steps(ResolvedExperiment& e, double factor)
{
  e.platform.gpu.speed_variation /= factor;
  for (ResolvedJob& job : e.jobs) {
    job.framework.step_variation /= factor;
    steadier_kernels(job, factor);
    if (!job.plan)
      continue;
    auto plan = std::make_shared<models::WorkPlan>(*job.plan);
    plan->step_variation /= factor;
    job.plan = std::move(plan);
  }
}

const std::vector<Lever>& all_levers()
{
  using enum sim::ResourceKind;
  static const std::vector<Lever> kLevers{
      {"gpu", "GPUs", "GPUs twice as fast", &faster_gpus, {compute, device_memory}},
      {"nvlink", "NVLink", "NVLink twice as fast", &faster_nvlink, {nvlink}},
      {"pcie", "PCIe", "PCIe twice as fast", &faster_pcie, {pcie, root_port, socket_link}},
      {"disk",
       "disks",
       "disks twice as fast",
       &faster_disks,
       {disk, storage_disks, storage_operations}},
      {"storage-network",
       "network of the file servers",
       "file servers with twice the network",
       &faster_server_links,
       {storage_link, storage_gateway}},
      {"storage-cpu",
       "processors of the file servers",
       "file servers with twice the processors",
       &faster_servers,
       {storage_cores}},
      {"mount",
       "connections and latency of the storage",
       "twice the connections to the storage, at half the latency",
       &more_mounts,
       {mount}},
      {"memory",
       "memory bandwidth of the nodes",
       "memory of the nodes twice as fast",
       &faster_memory,
       {dram}},
      {"cores", "CPU cores", "twice as many CPU cores", &more_cores, {cores}},
      {"core-speed",
       "speed of the CPU cores",
       "CPU cores twice as fast",
       &faster_cores,
       {summation_thread, network_thread}},
      {"threads",
       "threads that decode",
       "twice as many threads that decode",
       &more_threads,
       {file_thread}},
      {"page-cache", "main memory of the nodes", "twice the main memory", &more_memory, {}},
      {"fabric",
       "switches between the nodes",
       "uplinks of the switches twice as fast",
       &faster_switches,
       {uplink}},
      {"nic", "network adapters", "network adapters twice as fast", &faster_adapters, {adapter}},
      {"connections",
       "connections of the transport",
       "twice the connections of the transport",
       &more_connections,
       {}},
      {"latency",
       "latency of network, links and collective library",
       "half the latency of network, links and collective library",
       &shorter_latencies,
       {}},
      {"framework",
       "overheads of the framework",
       "half the overheads of the framework",
       &leaner_framework,
       {}},
      {"variation",
       "variation of step times",
       "half the variation of step times",
       &steadier_steps,
       {}},
  };
  return kLevers;
}

// "gpu3" without what it is.
std::string number_of(const std::string& gpu)
{
  return gpu.substr(std::string_view("gpu").size());
}

// A part of a node.
std::string part_words(const sim::Resource& r)
{
  using enum sim::ResourceKind;
  const bool out = r.direction == sim::Direction::out;
  switch (r.kind) {
  case compute:
    return "GPU " + number_of(r.part);
  case device_memory:
    return "memory of GPU " + number_of(r.part);
  case pcie:
    return "PCIe " + std::string(out ? "uplink" : "downlink") + " of " + r.part;
  case root_port:
    return "PCIe root port of " + r.part;
  case socket_link:
    return "link between the CPU sockets";
  case nvlink:
    return r.direction == sim::Direction::none ? "NVLink " + r.part
                                               : "NVLink of GPU " + number_of(r.part);
  case dram:
    return "memory bandwidth of " + r.part;
  case adapter:
    return "network adapter " + r.part + (out ? " (sending)" : " (receiving)");
  case cores:
    return r.part.empty() ? "CPU cores" : "CPU cores of job " + r.part;
  case mount:
    return "connection to the file server";
  case disk:
    return "disk " + r.part;
  case summation_thread:
    return "threads that sum";
  case file_thread:
    return "thread of job " + r.part + " that opens files";
  default:
    return r.part;
  }
}

} // namespace

std::span<const Lever> levers()
{
  return all_levers();
}

const Lever* lever_of(sim::ResourceKind kind)
{
  for (const Lever& lever : all_levers())
    if (std::find(lever.resources.begin(), lever.resources.end(), kind) != lever.resources.end())
      return &lever;
  return nullptr;
}

const Lever* lever_named(std::string_view key)
{
  for (const Lever& lever : all_levers())
    if (lever.key == key)
      return &lever;
  throw std::logic_error("no lever " + std::string(key));
}

std::string resource_words(const sim::Resource& resource)
{
  using enum sim::ResourceKind;
  switch (resource.kind) {
  case storage_disks:
    return "disks of the file server";
  case storage_operations:
    return "operations of the file server's disks";
  case storage_cores:
    return "CPU cores of the file server";
  case storage_link:
    return "network adapters of the file server";
  case storage_gateway:
    return "gateway to the file server";
  case uplink:
    return (resource.direction == sim::Direction::out ? "uplinks of switch "
                                                      : "downlinks of switch ") +
           resource.part.substr(resource.part.find("leaf") + std::string_view("leaf").size());
  default:
    return resource.node < 0 ? resource.part
                             : fmt::format("{} of node {}", part_words(resource), resource.node);
  }
}

std::vector<double> throughputs_with(const ResolvedExperiment& experiment,
                                     const std::vector<const Lever*>& pulled, double factor,
                                     const RunOptions& options, int steps)
{
  ResolvedExperiment changed = experiment;
  for (const Lever* lever : pulled)
    lever->apply(changed, factor);
  if (!pulled.empty())
    changed.exchanges = std::make_shared<KnownExchanges>();
  for (ResolvedJob& job : changed.jobs) {
    job.measured_steps = std::min(job.measured_steps, steps);
    if (job.input.synthetic)
      job.spec.warmup_steps = std::min(job.spec.warmup_steps, 1);
  }
  RunOptions quiet = options;
  quiet.trace_path.clear();
  quiet.keep_limits = false;
  quiet.progress = nullptr;
  Stage stage(changed, quiet);
  stage.run();
  std::vector<double> rates;
  for (std::size_t i = 0; i < changed.jobs.size(); ++i) {
    double sum = 0;
    const auto& steps_taken = stage.job(i).step_times();
    for (const Seconds step : steps_taken)
      sum += step.value();
    rates.push_back(stage.job(i).schedule().samples_per_step *
                    static_cast<double>(steps_taken.size()) / sum);
  }
  return rates;
}

} // namespace foretrain::experiments
