#include "experiments/run/simulate/synchronisation.hpp"

#include "experiments/run/simulate/tenancy.hpp"
#include "experiments/spec/graph_rules.hpp"
#include "models/plans/data_parallel.hpp"
#include "models/servers/host_all_reduce.hpp"
#include "models/servers/parameter_servers.hpp"
#include "models/training/bucket_copies.hpp"
#include "platforms/host_links.hpp"
#include "platforms/servers.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

// The share of a GPU's arithmetic that the blocks of a collective take while it runs.
double held_by(const models::Collective& all_reduce, const ResolvedJob& job,
               const models::ComputeProfile& profile, const platforms::Gpu& gpu)
{
  if (job.framework.overlap == models::Overlap::none || gpu.on_host())
    return 0;
  const double channels = static_cast<double>(all_reduce.communicator().channels.size());
  const double held =
      std::min(0.5, channels * job.library.blocks_per_channel / gpu.multiprocessors);
  const double slowed = models::slowed_beside_collective(
      profile, held, gpu.beside_collective.products, gpu.beside_collective.memory_bound,
      gpu.beside_collective.per_kernel);
  return 1 - 1 / slowed;
}

// Nodes whose GPUs all do what others do, but for the first ones, which reports tell of.
std::vector<int> nodes_alike(const ResolvedJob& job, const std::vector<bool>& apart)
{
  std::map<int, bool> alike;
  for (std::size_t gpu = 0; gpu < job.ranks.size(); ++gpu) {
    const auto [at, first] = alike.try_emplace(job.ranks[gpu].node, true);
    at->second = at->second && !apart[gpu];
  }
  std::vector<int> nodes;
  int told = 0;
  for (const auto& [node, is] : alike)
    if (++told > kNodesTold && is)
      nodes.push_back(node);
  return nodes;
}

std::shared_ptr<const models::Collective> all_reduce_of(const ResolvedJob& job,
                                                        const std::vector<bool>& apart,
                                                        sim::Engine& engine,
                                                        const platforms::Machine& machine)
{
  auto communicator = platforms::make_communicator(machine, job.ranks, "job " + job.spec.name,
                                                   graph_rules(job.library));
  if (const auto alike = nodes_alike(job, apart); !alike.empty())
    communicator.alike = machine.numbers_on(alike);
  return std::make_shared<const models::Collective>(engine, std::move(communicator), job.library,
                                                    models::Operation::all_reduce,
                                                    job.framework.algorithm);
}

std::shared_ptr<models::Synchroniser>
host_all_reduce_of(const ResolvedJob& job, sim::Engine& engine, const platforms::Machine& machine)
{
  const models::HostExchange& rules = *job.library.host;
  auto links = platforms::make_host_links(
      machine, job.ranks, rules.process == models::HostProcess::node, "job " + job.spec.name);
  return std::make_shared<models::HostAllReduce>(engine, std::move(links), rules, job.library,
                                                 gradient_bytes(job) == 2);
}

std::shared_ptr<models::Synchroniser> servers_of(const ResolvedJob& job, sim::Engine& engine,
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
  return std::make_shared<models::ParameterServers>(engine, std::move(links), rules, job.library,
                                                    job.framework.algorithm);
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
  return std::max(Seconds(0), most * launches * job.profile.behind.launch - kernels);
}

} // namespace

DataParallelJob data_parallel_job(const ResolvedJob& job, const std::vector<bool>& apart,
                                  sim::Engine& engine, const platforms::Machine& machine)
{
  DataParallelJob made;
  models::DataParallel writing;
  writing.name = job.spec.name;
  writing.ranks = models::folded(apart);
  writing.profile = job.profile;
  writing.framework = job.framework;
  writing.input = !job.input.synthetic;
  writing.batches = job.spec.gradient_accumulation;
  writing.adding_up = adding_up(job);
  const bool adds =
      job.spec.mode != JobMode::inference && (job.ranks.size() > 1 || !job.server_nodes.empty());
  if (adds) {
    // The host launches the update when it has the gradients, and GPUs wait for it meanwhile.
    const Seconds waits =
        std::max(Seconds(0), writing.profile.behind.host + writing.profile.behind.passes -
                                 writing.profile.optimizer_idle);
    writing.profile.optimizer += waits;
    writing.profile.optimizer_idle += waits;
    if (job.framework.bucket_copies)
      writing.profile =
          models::with_bucket_copies(std::move(writing.profile), job.network, gradient_bytes(job),
                                     job.device.ordinary, job.device.launches);
    writing.framework.step_overhead +=
        launches_behind(job, writing.profile.optimizer - writing.profile.optimizer_idle);
    writing.buckets =
        models::plan_buckets(job.network, writing.profile, job.framework, gradient_bytes(job));
    writing.tables =
        models::table_exchanges(job.network, writing.profile, job.spec.batch_per_gpu, job.device);
    writing.nodes = job.device.nodes;
    writing.fusion_copy = fusion_copy_rate(machine.spec().gpu);
    writing.adding = models::Adding::servers;
    if (job.parameter_servers) {
      made.synchroniser = servers_of(job, engine, machine);
    } else if (job.library.host) {
      made.synchroniser = host_all_reduce_of(job, engine, machine);
    } else {
      made.all_reduce = all_reduce_of(job, apart, engine, machine);
      writing.held = held_by(*made.all_reduce, job, writing.profile, machine.spec().gpu);
      writing.adding = models::Adding::all_reduce;
    }
    if (made.synchroniser && made.synchroniser->fetches())
      writing.adding = models::Adding::fetching;
  }
  auto plan = std::make_shared<models::WorkPlan>();
  plan->program = models::data_parallel_program(writing);
  plan->samples_per_step =
      static_cast<double>(batch_of_step(job.spec)) * static_cast<double>(job.ranks.size());
  // Alone a GPU waits for none that has more work.
  const double of_work = job.ranks.size() > 1 ? job.network.work_variation : 0;
  plan->step_variation = std::hypot(job.framework.step_variation, of_work);
  made.plan = std::move(plan);
  return made;
}

} // namespace foretrain::experiments
