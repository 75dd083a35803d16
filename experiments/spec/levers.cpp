#include "experiments/spec/levers.hpp"

#include "experiments/spec/transformer_levers.hpp"
#include "models/training/work_plan.hpp"
#include "platforms/link_words.hpp"

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

void quicken(sim::Roofline& kernels, double factor)
{
  kernels.peak *= factor;
  kernels.memory *= factor;
  kernels.cached *= factor;
  for (Seconds* time : {&kernels.launch, &kernels.function})
    *time *= 1 / factor;
}

void faster_gpus(ResolvedExperiment& e, double factor)
{
  e.platform.gpu.memory_bandwidth *= factor;
  for (ResolvedJob& job : e.jobs) {
    job.profile = job.profile.scaled(1 / factor);
    quicken(job.device.ordinary, factor); // of which an exchange adds kernels
    for (models::LocalCopy& copy : job.library.local_copies)
      for (BytesPerSecond* rate : {&copy.rate, &copy.to_itself})
        *rate *= factor;
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
    if (nic.rate >= nic.line) // no slower port limits it
      nic.rate *= factor;
}

void faster_switches(ResolvedExperiment& e, double factor)
{
  for (platforms::Fabric& fabric : e.platform.fabrics)
    fabric.port_rate *= factor;
  for (platforms::Nic& nic : e.platform.nics)
    if (nic.rate < nic.line) // a port limits it
      nic.rate = std::min(nic.line, nic.rate * factor);
}

void more_cores(ResolvedExperiment& e, double factor)
{
  e.platform.cpu.cores = as_many(e.platform.cpu.cores, factor);
  for (ResolvedJob& job : e.jobs)
    if (job.spec.cores)
      *job.spec.cores *= factor;
}

// A transport, and what stands for it between pods of one node.
template <class F>
void of_each(platforms::Transport& transport, const F& change)
{
  change(transport);
  for (platforms::Transport& within : transport.within_node)
    change(within);
}

void faster_on_cores(platforms::Stack& stack, double factor)
{
  stack.transport = platforms::on_faster_cores(std::move(stack.transport), factor);
  stack.host.cpu_per_packet *= 1 / factor;
  stack.host.cpu_per_disk_request *= 1 / factor;
}

// Of a network's job: what launches its kernels, those of an exchange among them.
void host_in_less(ResolvedJob& job, double factor)
{
  job.profile = job.profile.hosted(1 / factor);
  if (job.device.launches)
    job.device.launches->quicken(factor);
}

void faster_cores(ResolvedExperiment& e, double factor)
{
  e.platform.cpu.clock *= factor;
  e.platform.cpu.copy_rate *= factor;
  faster_on_cores(e.stack, factor);
  if (e.storage) {
    e.storage->open_cpu *= 1 / factor;
    e.storage->core_speed *= factor;
  }
  for (ResolvedJob& job : e.jobs) {
    faster_on_cores(job.stack, factor);
    host_in_less(job, factor);
    quicker_host(job, factor);
    job.framework.host_threads *= 1 / factor; // the same work keeps a core busy for less
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
  for (ResolvedJob& job : e.jobs)
    faster_host_memory(job, factor);
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
    e.storage->servers->write_rate *= factor;
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

void more_server_cores(ResolvedExperiment& e, double factor)
{
  if (e.storage && e.storage->server_cpu)
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
  // Those that the library opens by itself, by the vendor of an adapter that it sees
  // (SocketThreads), or what is asked for.
  const auto by_vendor = [](const platforms::Nic& nic) { return nic.socket_threads > 0; };
  const bool any_by_vendor = std::any_of(e.platform.nics.begin(), e.platform.nics.end(), by_vendor);
  for (platforms::Nic& nic : e.platform.nics)
    nic.socket_threads = as_many(nic.socket_threads, factor);
  const auto more = [&](platforms::Transport& transport) {
    const bool seen = any_by_vendor && transport.shows_adapters();
    if (factor != 1 && (transport.connections || !seen))
      transport.connections = as_many(transport.parallel(), factor);
  };
  of_each(e.stack.transport, more);
  for (ResolvedJob& job : e.jobs) {
    of_each(job.stack.transport, more);
    if (job.framework.servers) // what one process gets through
      job.framework.servers->verbs_rate *= factor;
  }
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
  const auto shorter = [part](platforms::Transport& transport) { transport.latency *= part; };
  of_each(e.stack.transport, shorter);
  e.stack.host.network_latency *= part;
  for (ResolvedJob& job : e.jobs) {
    of_each(job.stack.transport, shorter);
    job.stack.host.network_latency *= part;
    for (models::Protocol& protocol : job.library.protocols) {
      for (Seconds* base :
           {&protocol.ring_base, &protocol.tree_base, &protocol.in_switch_base, &protocol.peers})
        *base *= part;
      shorter_hops(protocol.ring_hop, factor);
      shorter_hops(protocol.tree_hop, factor);
      for (models::GpuLatency& newer : protocol.gpu_latencies)
        for (Seconds* time : {&newer.base, &newer.nvlink_hop, &newer.peers, &newer.tree_hop,
                              &newer.send, &newer.filled, &newer.round})
          *time *= part;
    }
    job.library.socket_step *= part;
  }
}

// The host's operations and launches, or recorded times in which the device does nothing and no
// exchange runs: it waits for its host.
void less_idle(ResolvedJob& job, double factor)
{
  if (job.profile.host().value() > 0) {
    host_in_less(job, factor);
    return;
  }
  const auto shorten = [factor](Seconds& time, Seconds& idle) {
    time -= (1 - 1 / factor) * idle;
    idle *= 1 / factor;
  };
  for (models::LayerTime& layer : job.profile.layers) {
    shorten(layer.forward, layer.forward_idle);
    shorten(layer.backward, layer.backward_idle);
  }
  shorten(job.profile.optimizer, job.profile.optimizer_idle);
  if (!job.plan)
    return;
  auto plan = std::make_shared<models::WorkPlan>(*job.plan);
  for (sim::Operation& operation : plan->program.operations)
    if (operation.kind == sim::WorkKind::wait && operation.phase == sim::Phase::framework)
      operation.amount /= factor;
  job.plan = std::move(plan);
}

void faster_opening(ResolvedExperiment& e, double factor)
{
  for (ResolvedJob& job : e.jobs)
    job.input.settings.file_time *= 1 / factor;
}

void leaner_framework(ResolvedExperiment& e, double factor)
{
  const double part = 1 / factor;
  for (ResolvedJob& job : e.jobs) {
    faster_operations(job, sim::WorkKind::host, factor);
    less_idle(job, factor);
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
    job.network.work_variation /= factor;
    steadier_kernels(job, factor);
    if (!job.plan)
      continue;
    auto plan = std::make_shared<models::WorkPlan>(*job.plan);
    plan->step_variation /= factor;
    job.plan = std::move(plan);
  }
}

struct Pull {
  void (*apply)(ResolvedExperiment&, double factor);
  std::vector<sim::ResourceKind> resources;
};

// In the order of kLeverTexts.
std::vector<Lever> with_texts(const std::vector<Pull>& pulls)
{
  std::vector<Lever> made;
  for (std::size_t i = 0; i < pulls.size(); ++i)
    made.push_back({kLeverTexts.at(i), pulls[i].apply, pulls[i].resources});
  return made;
}

const std::vector<Lever>& all_levers()
{
  using enum sim::ResourceKind;
  static const std::vector<Lever> kLevers = with_texts({
      {&faster_gpus, {compute, device_memory}},
      {&faster_nvlink, {nvlink}},
      {&faster_pcie, {pcie, root_port, socket_link}},
      {&faster_disks, {disk, storage_disks, storage_operations}},
      {&faster_server_links, {storage_link, storage_gateway}},
      {&more_server_cores, {storage_cores}},
      {&more_mounts, {mount}},
      {&faster_memory, {dram}},
      {&more_cores, {cores}},
      {&faster_cores, {summation_thread, network_thread, flow_core, layer_thread}},
      {&more_threads, {}},
      {&faster_opening, {file_thread}},
      {&more_memory, {}},
      {&faster_switches, {uplink}},
      {&faster_adapters, {adapter}},
      {&more_connections, {verbs}},
      {&shorter_latencies, {}},
      {&leaner_framework, {}},
      {&steadier_steps, {}},
  });
  return kLevers;
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

void make_better(ResolvedExperiment& e)
{
  std::string told;
  for (std::size_t i = 0; i < all_levers().size(); ++i) {
    const std::optional<double>& factor = e.spec.better.factors[i];
    if (!factor || *factor == 1)
      continue;
    all_levers()[i].apply(e, *factor);
    told +=
        fmt::format("{}{} {:g} times as good", told.empty() ? "" : ", ",
                    platforms::link_words(all_levers()[i].name, e.platform.gpu.vendor), *factor);
  }
  if (!told.empty())
    e.jobs.front().warnings.push_back("\"better\": this is a machine that is not there, with " +
                                      told);
}

} // namespace foretrain::experiments
