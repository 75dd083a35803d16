#include "experiments/spec/resolve_checks.hpp"

#include "experiments/spec/kernel_curves.hpp"
#include "models/collectives/collective.hpp"
#include "platforms/link_words.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <span>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

// Whether it joins processes of one machine alone, and the platform's "nodes" are none such: GPUs
// that are processes on a host's cores may be.
bool stays_in_machine(const platforms::PlatformSpec& platform,
                      const platforms::Transport& transport)
{
  return transport.one_machine && !platform.gpu.on_host();
}

// Bundled networks that the platform's adapters can carry.
std::string networks_for(const platforms::PlatformSpec& platform, const Value& root)
{
  std::vector<std::string> names;
  for (const auto& name : preset_names(platforms::kTransportKind)) {
    const auto transport = platforms::load_transport(preset_reference(name, root));
    if (!stays_in_machine(platform, transport) &&
        platforms::find_network(platform, transport).index >= 0)
      names.push_back(name);
  }
  return names.empty() ? "it has no adapter in any network" : "it can use: " + joined(names);
}

void check_network(const ResolvedExperiment& e, const platforms::Transport& transport,
                   const Value& asked, const Value& root)
{
  const bool stays = stays_in_machine(e.platform, transport);
  if (!stays && platforms::find_network(e.platform, transport).index >= 0)
    return;
  const std::string hint = networks_for(e.platform, root);
  if (asked && stays)
    asked.fail(fmt::format("is '{}', which joins processes of one machine, no nodes of a cluster",
                           transport.name),
               hint);
  const std::string problem =
      fmt::format("is '{}', which no adapter of '{}' can carry", transport.name, e.platform.name);
  if (asked)
    asked.fail(problem, hint);
  root.at("cluster").fail_at(
      "nodes", fmt::format("is {}, but '{}' has no network for them", e.nodes, e.platform.name),
      hint);
}

// Whether processes of one node reach each other over the transport alone, and it can join them
// nowhere: neither an adapter carries it nor an Ethernet bridge between pods.
bool joins_no_pods(const ResolvedJob& job)
{
  const platforms::Transport& transport = job.stack.transport;
  return job.stack.host.container_per_gpu && job.spec.gpus > 1 &&
         (transport.protocol == platforms::NetworkProtocol::rdma || !transport.ethernet);
}

// What stands under /stack/network of an experiment or a job, if anything.
Value network_asked_for(const Value& holder)
{
  const bool there =
      holder.json().contains("stack") && holder.json().at("stack").contains("network");
  return there ? holder.at("stack").at("network") : Value();
}

bool divides_tables(const models::Network& network)
{
  return std::ranges::any_of(
      network.layers, [](const models::Layer& layer) { return layer.exchanged_elements > 0; });
}

} // namespace

bool spans_nodes(const ResolvedJob& job)
{
  std::set<int> nodes(job.server_nodes.begin(), job.server_nodes.end());
  for (const auto& place : job.ranks)
    nodes.insert(place.node);
  return nodes.size() > 1;
}

void check_library(const ResolvedJob& job, const Value& at)
{
  if (!job.library.between_nodes && spans_nodes(job))
    at.fail_at(job.spec.library ? "library" : "framework",
               fmt::format("exchanges by {}, which has no network, and the job has several nodes",
                           job.library.name),
               "\"library\": \"nccl-2.0\" or a later one, or the GPUs of one node");
}

namespace {

void check_algorithm(const Value& at, const std::string& name,
                     const std::vector<std::string>& known)
{
  if (std::ranges::find(known, name) == known.end())
    at.fail_at("algorithm", "is not a known algorithm: '" + excerpt(name) + "'",
               suggestion(name, known, "algorithms"));
}

} // namespace

void check_algorithm(const ResolvedJob& job)
{
  if (!job.library.host)
    check_algorithm(resolve_preset(job.spec.framework, models::kFrameworkKind),
                    job.framework.algorithm,
                    models::algorithm_names(models::Operation::all_reduce));
}

void check_algorithms(const Value& program, const std::vector<sim::WorkGroup>& groups)
{
  for (std::size_t g = 0; g < groups.size(); ++g)
    if (groups[g].algorithm != "auto")
      check_algorithm(program.at("groups").at(g), groups[g].algorithm, models::algorithm_names());
}

void check_networks(const ResolvedExperiment& e, const Value& root)
{
  const Value everybody = network_asked_for(root);
  if (e.nodes > 1)
    check_network(e, e.stack.transport, everybody, root);
  for (std::size_t j = 0; j < e.jobs.size(); ++j) {
    if (e.nodes < 2 && !joins_no_pods(e.jobs[j]))
      continue;
    const Value own = network_asked_for(root.at("jobs").at(j));
    check_network(e, e.jobs[j].stack.transport, own ? own : everybody, root);
  }
}

std::vector<std::string> assumptions_of(const platforms::Stack& stack, bool between_nodes)
{
  std::vector<std::string> assumed;
  if (!stack.host.assumption.empty())
    assumed.push_back(stack.host.assumption);
  if (between_nodes)
    assumed.insert(assumed.end(), stack.assumed.begin(), stack.assumed.end());
  return assumed;
}

void check_accumulation(const ResolvedJob& job, const Value& at)
{
  if (job.spec.gradient_accumulation == 1)
    return;
  const char* const why = job.spec.program ? "and the job's program is a whole step"
                          : job.spec.mode == JobMode::inference ? "and inference has no gradients"
                          : job.network.measured ? "and the model is a recording of whole steps"
                          : divides_tables(job.network)
                              ? "and the rows of divided tables are exchanged with each batch"
                              : nullptr;
  if (why != nullptr)
    at.fail_at("gradient_accumulation",
               fmt::format("is {}, {}", job.spec.gradient_accumulation, why), "leave it out");
}

void check_tables(const ResolvedExperiment& e, const Value& root)
{
  for (std::size_t j = 0; j < e.jobs.size(); ++j) {
    const ResolvedJob& job = e.jobs[j];
    if (divides_tables(job.network) && job.ranks.size() > 1 &&
        job.spec.mode != JobMode::inference && (job.parameter_servers || job.library.host))
      root.at("jobs").at(j).fail_at(
          "framework",
          fmt::format("adds gradients by {}, which hands no rows of tables from GPU to GPU: {} "
                      "divides its tables among them",
                      job.parameter_servers ? "parameter servers" : job.library.name,
                      job.network.name),
          "take one whose library is NCCL, such as hugectr or pytorch-ddp");
  }
}

} // namespace foretrain::experiments
