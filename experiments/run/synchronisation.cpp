#include "experiments/run/synchronisation.hpp"

#include "experiments/spec/graph_rules.hpp"
#include "models/host_all_reduce.hpp"
#include "platforms/host_links.hpp"
#include "platforms/servers.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

void add_all_reduce(models::JobSetup& setup, const ResolvedJob& job, sim::Engine& engine,
                    const platforms::Machine& machine)
{
  auto communicator = platforms::make_communicator(machine, job.ranks, "job " + job.spec.name,
                                                   graph_rules(job.library));
  const double channels = static_cast<double>(communicator.channels.size());
  setup.synchroniser =
      std::make_shared<models::AllReduce>(std::make_shared<const models::Collective>(
          engine, std::move(communicator), job.library, models::Operation::all_reduce,
          job.framework.algorithm));
  const platforms::Gpu& gpu = machine.spec().gpu;
  if (job.framework.overlap == models::Overlap::none || gpu.on_host())
    return;
  const double held =
      std::min(0.5, channels * job.library.blocks_per_channel / gpu.multiprocessors);
  const double slowed = models::slowed_beside_collective(
      setup.profile, held, gpu.beside_collective.products, gpu.beside_collective.memory_bound,
      gpu.beside_collective.per_kernel);
  setup.stolen_by_communication = 1 - 1 / slowed;
}

void add_host_all_reduce(models::JobSetup& setup, const ResolvedJob& job, sim::Engine& engine,
                         const platforms::Machine& machine)
{
  const models::HostExchange& rules = *job.library.host;
  auto links = platforms::make_host_links(
      machine, job.ranks, rules.process == models::HostProcess::node, "job " + job.spec.name);
  setup.synchroniser = std::make_shared<models::HostAllReduce>(
      engine, std::move(links), rules, job.library, gradient_bytes(job) == 2);
}

void add_servers(models::JobSetup& setup, const ResolvedJob& job, sim::Engine& engine,
                 const platforms::Machine& machine)
{
  models::ServerRules rules = *job.framework.servers;
  platforms::ServerPlan plan;
  plan.in_process = job.ranks.size() == 1 && job.server_nodes.size() == 1 &&
                    job.server_nodes.front() == job.ranks.front().node;
  if (plan.in_process)
    rules.message = Seconds(0);
  plan.nodes = job.server_nodes;
  plan.worker_per_node = rules.worker == models::ServerClient::node;
  plan.copies = rules.copies;
  plan.network_threads = rules.network_threads;
  plan.verbs_rate = rules.verbs_rate;
  plan.loopback = rules.sockets;
  auto links = platforms::make_server_links(engine, machine, job.ranks, plan, job.spec.name);
  setup.synchroniser = std::make_shared<models::ParameterServers>(
      engine, std::move(links), rules, job.library, job.framework.algorithm);
}

// What the launches that follow the exchange take longer than the kernels, where one process
// launches for all GPUs of a node.
Seconds launches_behind(const ResolvedJob& job, Seconds kernels)
{
  if (!job.framework.one_process)
    return Seconds(0);
  std::map<int, int> gpus;
  int most = 0;
  for (const auto& place : job.ranks)
    most = std::max(most, ++gpus[place.node]);
  const models::OneProcess& rules = *job.framework.one_process;
  const bool half = job.spec.precision == sim::Precision::fp16;
  const double of_gradient =
      rules.launches_per_gradient + (half ? rules.launches_per_half_gradient : 0);
  const double launches =
      job.profile.optimizer_launches +
      of_gradient * static_cast<double>(models::totals(job.network).gradient_tensors);
  return std::max(Seconds(0), most * launches * job.device.ordinary.launch - kernels);
}

} // namespace

void add_synchronisation(models::JobSetup& setup, const ResolvedJob& job, sim::Engine& engine,
                         const platforms::Machine& machine)
{
  if (job.spec.mode == JobMode::inference || (job.ranks.size() < 2 && job.server_nodes.empty()))
    return;
  setup.profile.optimizer += setup.profile.optimizer_exposed;
  setup.framework.step_overhead += launches_behind(job, setup.profile.optimizer);
  setup.buckets =
      models::plan_buckets(job.network, job.profile, job.framework, gradient_bytes(job));
  setup.fusion_copy = fusion_copy_rate(machine.spec().gpu);
  if (job.parameter_servers)
    add_servers(setup, job, engine, machine);
  else if (job.library.host)
    add_host_all_reduce(setup, job, engine, machine);
  else
    add_all_reduce(setup, job, engine, machine);
}

} // namespace foretrain::experiments
