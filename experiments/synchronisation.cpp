#include "experiments/synchronisation.hpp"

#include "experiments/ring_order.hpp"
#include "platforms/servers.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

Bytes largest_bucket(const models::JobSetup& setup)
{
  Bytes largest;
  for (const models::Bucket& bucket : setup.buckets)
    largest = std::max(largest, bucket.size);
  return largest;
}

void add_all_reduce(models::JobSetup& setup, const ResolvedJob& job, sim::Engine& engine,
                    const platforms::Machine& machine)
{
  auto communicator = platforms::make_communicator(machine, job.ranks, "job " + job.spec.name,
                                                   ring_order(job.library));
  const double channels = static_cast<double>(communicator.channels.size());
  setup.synchroniser =
      std::make_shared<models::AllReduce>(std::make_shared<const models::Collective>(
          engine, std::move(communicator), job.library, models::Operation::all_reduce,
          job.framework.algorithm));
  if (job.framework.overlap != "none")
    setup.stolen_by_communication = std::min(0.5, channels * job.library.blocks_per_channel /
                                                      machine.spec().gpu.multiprocessors);
}

void add_servers(models::JobSetup& setup, const ResolvedJob& job, sim::Engine& engine,
                 const platforms::Machine& machine)
{
  const models::ServerRules& rules = *job.framework.servers;
  platforms::ServerPlan plan;
  plan.nodes = job.server_nodes;
  plan.worker_per_node = rules.worker == "node";
  plan.copies = rules.copies;
  plan.network_threads = rules.network_threads;
  auto links = platforms::make_server_links(engine, machine, job.ranks, plan, job.spec.name);
  setup.synchroniser = std::make_shared<models::ParameterServers>(
      engine, std::move(links), rules, job.library, job.framework.algorithm);
}

} // namespace

void add_synchronisation(models::JobSetup& setup, const ResolvedJob& job, sim::Engine& engine,
                         const platforms::Machine& machine)
{
  if (job.ranks.size() < 2)
    return;
  const bool half = job.spec.precision == "fp16" || job.spec.precision == "bf16";
  const int gradient = job.framework.gradient_precision == "compute" && half ? 2 : 4;
  setup.buckets = models::plan_buckets(job.network, job.profile, job.framework, gradient);
  const platforms::Gpu& gpu = machine.spec().gpu;
  setup.fusion_copy = 0.5 * gpu.memory_efficiency * gpu.memory_bandwidth; // read and write
  if (job.parameter_servers)
    add_servers(setup, job, engine, machine);
  else
    add_all_reduce(setup, job, engine, machine);
}

std::string synchronisation_text(const models::JobSetup& setup)
{
  if (setup.synchroniser == nullptr)
    return "";
  return fmt::format("{}, {} buckets of up to {}",
                     setup.synchroniser->summary(largest_bucket(setup), setup.fidelity),
                     setup.buckets.size(), to_text(largest_bucket(setup)));
}

} // namespace foretrain::experiments
