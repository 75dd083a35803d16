#include "experiments/run/simulate/plan_machine.hpp"

#include "experiments/run/simulate/resources_used.hpp"
#include "experiments/spec/graph_rules.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

models::Operation operation_of(sim::CollectiveKind kind)
{
  switch (kind) {
  case sim::CollectiveKind::all_reduce:
    return models::Operation::all_reduce;
  case sim::CollectiveKind::all_gather:
    return models::Operation::all_gather;
  case sim::CollectiveKind::reduce_scatter:
    return models::Operation::reduce_scatter;
  case sim::CollectiveKind::broadcast:
    return models::Operation::broadcast;
  case sim::CollectiveKind::all_to_all:
    return models::Operation::all_to_all;
  case sim::CollectiveKind::neighbours:
    return models::Operation::send_receive;
  }
  return models::Operation::all_reduce;
}

const char* kernel_of(sim::CollectiveKind kind)
{
  switch (kind) {
  case sim::CollectiveKind::all_reduce:
    return "AllReduce_Sum";
  case sim::CollectiveKind::all_gather:
    return "AllGather";
  case sim::CollectiveKind::reduce_scatter:
    return "ReduceScatter_Sum";
  case sim::CollectiveKind::broadcast:
    return "Broadcast";
  case sim::CollectiveKind::all_to_all:
  case sim::CollectiveKind::neighbours:
    return "SendRecv";
  }
  return "";
}

} // namespace

PlanMachine::PlanMachine(sim::Engine& engine, const platforms::Machine& machine,
                         const ResolvedJob& job, const models::WorkPlan& plan,
                         models::Fidelity fidelity, JobParts parts)
    : engine_(engine), machine_(machine), job_(job), plan_(plan), fidelity_(fidelity),
      parts_(std::move(parts)), graph_rules_(graph_rules(job.library))
{
  if (parts_.all_reduce)
    sets_[{0, sim::CollectiveKind::all_reduce}] = {parts_.all_reduce};
}

// Of all nodes that the job is on, and the network's between them.
void PlanMachine::add_nodes(std::set<int>& resources) const
{
  std::set<int> nodes(job_.server_nodes.begin(), job_.server_nodes.end());
  for (const auto& rank : job_.ranks)
    nodes.insert(rank.node);
  for (int r = 0; r < engine_.resource_count(); ++r)
    if (const int node = engine_.resource({r}).node;
        nodes.contains(node) || (node < 0 && nodes.size() > 1))
      resources.insert(r);
}

std::set<int> PlanMachine::uses()
{
  std::set<int> all;
  for (int rank = 0; rank < static_cast<int>(program().ranks.size()); ++rank)
    add_used(all, compute(rank));
  for (const auto& pipeline : parts_.input)
    for (const auto& use : pipeline->uses())
      add_used(all, use.stage->path);
  for (const sim::Operation& op : program().operations)
    switch (op.kind) {
    case sim::WorkKind::host:
      add_used(all, host(op.rank));
      break;
    case sim::WorkKind::offload: {
      const int first = first_device(op.rank);
      const int count = program().ranks.at(static_cast<std::size_t>(op.rank)).stands_for;
      for (int device = first; device < first + count; ++device) {
        const auto& gpu = job_.ranks.at(static_cast<std::size_t>(device));
        add_used(all, op.to_host ? machine_.device_to_host(gpu) : machine_.host_to_device(gpu));
      }
      break;
    }
    case sim::WorkKind::collective:
      for (const auto& set : sets(op.group, op.collective))
        all.merge(resources_of(*set));
      break;
    case sim::WorkKind::transfer:
      for (const Way& way : ways(op))
        add_used(all, way.path);
      break;
    case sim::WorkKind::synchronise:
      add_nodes(all);
      break;
    default:
      break;
    }
  return all;
}

void PlanMachine::meet(const std::set<int>& shared)
{
  met_ = shared;
}

bool PlanMachine::by_itself(const sim::Operation& op)
{
  if (program().exchanges == sim::Exchanges::shared)
    return false;
  if (met_.empty())
    return true;
  const bool sends = op.kind == sim::WorkKind::transfer;
  const auto key = sends ? std::make_tuple(op.group, op.rank, op.peer)
                         : std::make_tuple(op.group, -1, static_cast<int>(op.collective));
  const auto [apart, unknown] = apart_.try_emplace(key);
  if (!unknown)
    return apart->second;
  std::set<int> used;
  if (sends)
    for (const Way& way : ways(op))
      add_used(used, way.path);
  else
    for (const auto& set : sets(op.group, op.collective))
      used.merge(resources_of(*set));
  return apart->second = !have_common(used, met_);
}

Seconds PlanMachine::alone(const sim::Operation& op, Bytes size)
{
  const auto kind =
      op.kind == sim::WorkKind::transfer ? sim::CollectiveKind::neighbours : op.collective;
  if (size.value() <= 0)
    return Seconds(0);
  const auto [time, unknown] = times_.try_emplace({op.group, kind, size.value()});
  if (!unknown)
    return time->second;
  if (!clock_)
    clock_ = std::make_unique<ExchangeClock>(ExchangeSite{machine_.spec(), machine_.stack(),
                                                          job_.library, machine_.nodes(),
                                                          job_.ranks, machine_.pcie_scale()},
                                             fidelity_);
  const auto [calls, anew] = timed_.try_emplace({op.group, kind});
  if (anew) {
    const sim::WorkGroup& group = program().groups.at(static_cast<std::size_t>(op.group));
    calls->second = clock_->calls(group.devices, group.beside, operation_of(kind));
  }
  return time->second = clock_->time(calls->second, size);
}

Seconds PlanMachine::whole(const sim::Operation& op)
{
  return op.alone.value() > 0 ? op.alone : op.calls * alone(op, Bytes(op.amount));
}

std::optional<std::vector<Seconds>> PlanMachine::undisturbed()
{
  const auto idle = [](double threads) { return threads == 0; };
  const auto& operations = program().operations;
  const bool known = std::all_of(operations.begin(), operations.end(), [](const auto& op) {
    return op.kind != sim::WorkKind::offload && op.kind != sim::WorkKind::synchronise &&
           op.period.value() == 0 && op.holds == 0 &&
           (op.kind != sim::WorkKind::transfer || op.group >= 0);
  });
  if (program().exchanges == sim::Exchanges::shared || !met_.empty() || !known ||
      !std::all_of(parts_.host_threads.begin(), parts_.host_threads.end(), idle))
    return {};
  std::vector<Seconds> lengths;
  for (const sim::Operation& op : operations) {
    const bool exchange =
        op.kind == sim::WorkKind::collective || op.kind == sim::WorkKind::transfer;
    lengths.push_back(exchange ? whole(op) : sim::length_alone(op, 1));
  }
  return lengths;
}

platforms::GpuPlace PlanMachine::place(int rank) const
{
  const int device = program().ranks.at(static_cast<std::size_t>(rank)).device;
  return job_.ranks.at(static_cast<std::size_t>(device));
}

std::vector<platforms::GpuPlace> PlanMachine::places(const std::vector<int>& devices) const
{
  std::vector<platforms::GpuPlace> found;
  for (const int device : devices)
    found.push_back(job_.ranks.at(static_cast<std::size_t>(device)));
  return found;
}

int PlanMachine::first_device(int rank) const
{
  const sim::WorkRank& of = program().ranks.at(static_cast<std::size_t>(rank));
  // A transformer's stages follow each other, and any device of one may be looked at.
  return job_.transformer ? of.device - of.device % of.stands_for : of.device;
}

// Every device that a rank stands for has a process, on cores of its own node.
sim::PathPtr PlanMachine::compute(int rank)
{
  sim::PathPtr& path = compute_[rank];
  if (path)
    return path;
  path = machine_.compute_path(place(rank), 0);
  const int count = program().ranks.at(static_cast<std::size_t>(rank)).stands_for;
  sim::Held held;
  std::map<int, double> cores; // core-seconds by resource
  for (int device = first_device(rank); device < first_device(rank) + count; ++device) {
    const auto at = static_cast<std::size_t>(device);
    const sim::Held one =
        machine_.compute_path(job_.ranks.at(at), parts_.host_threads.at(at))->held;
    for (const sim::Use& use : one.uses)
      cores[use.resource] += use.weight;
    if (!one.uses.empty())
      held.priority = one.priority;
  }
  for (const auto& [resource, weight] : cores)
    held.uses.push_back({resource, weight});
  return path = sim::make_path(path->uses, path->latency, path->cap, std::move(held));
}

sim::PathPtr PlanMachine::host(int rank)
{
  return sim::make_path({}, {}, 1.0, machine_.thread_work(place(rank).node, 1.0, 1.0));
}

sim::PathPtr PlanMachine::offload(int rank, bool to_host)
{
  return to_host ? machine_.device_to_host(place(rank)) : machine_.host_to_device(place(rank));
}

sim::TaskGraph::ForeignWork PlanMachine::fetch(int rank)
{
  if (parts_.input.empty())
    return [](const std::function<void()>& got) { got(); };
  return [&pipeline = *parts_.input.at(static_cast<std::size_t>(rank))](std::function<void()> got) {
    pipeline.fetch(std::move(got));
  };
}

const PlanMachine::Calls& PlanMachine::sets(int group, sim::CollectiveKind kind)
{
  Calls& known = sets_[{group, kind}];
  if (!known.empty())
    return known;
  const sim::WorkGroup& of = program().groups.at(static_cast<std::size_t>(group));
  for (const auto& devices : of.devices)
    known.push_back(std::make_shared<const models::Collective>(
        engine_, platforms::make_communicator(machine_, places(devices), of.name, graph_rules_),
        job_.library, operation_of(kind), of.algorithm));
  return known;
}

const PlanMachine::Calls& PlanMachine::calls(int group, sim::CollectiveKind kind)
{
  Calls& known = calls_[{group, kind}];
  if (!known.empty())
    return known;
  known = sets(group, kind);
  std::vector<bool> seen;
  for (const auto& set : known)
    seen.push_back(seen.empty() || have_common(resources_of(*set), met_));
  known = that_meet(std::move(known), std::move(seen));
  return known;
}

sim::TaskId PlanMachine::add_collective(sim::TaskGraph& graph, sim::TaskId begin,
                                        const sim::Operation& op, int index,
                                        std::vector<sim::TaskId>& flows)
{
  const auto wait = [&](sim::TaskId after, Seconds time) {
    const sim::TaskId task = graph.add_delay("exchange", index, time);
    graph.add_edge(after, task);
    return task;
  };
  const Bytes size(op.amount);
  if (by_itself(op))
    return wait(begin, whole(op));
  const Calls& sets = calls(op.group, op.collective);
  if (sets.front()->empty())
    return begin;
  sim::TaskId end = graph.add_join("collectives", index);
  for (const auto& set : sets)
    graph.add_edge(set->add(graph, begin, op.calls * size, index, fidelity_, flows), end);
  if (op.calls == 1)
    return end;
  // Several calls are one flow, and take longer one by one.
  return wait(end, std::max(Seconds(0), op.calls * alone(op, size) - alone(op, op.calls * size)));
}

PlanMachine::Way PlanMachine::way(int from_device, int to_device) const
{
  const auto ends = places({from_device, to_device});
  const sim::Hop hop = machine_.hop(ends[0], ends[1], platforms::Mover::collective);
  const models::Protocol& protocol = job_.library.protocols.back();
  const models::HopLatency& step = protocol.ring_hop;
  const Seconds protocol_step = hop.reach == sim::Reach::nvlink ? step.nvlink
                                : hop.reach == sim::Reach::pcie ? step.pcie
                                                                : step.network;
  return {sim::make_path(hop.uses, {}, hop.cap), protocol.ring_base + protocol_step + hop.latency};
}

const std::vector<PlanMachine::Way>& PlanMachine::ways(const sim::Operation& op)
{
  auto& known = ways_[{op.rank, op.peer, op.group}];
  if (!known.empty())
    return known;
  if (op.group < 0) {
    const auto device = [&](int rank) {
      return program().ranks.at(static_cast<std::size_t>(rank)).device;
    };
    known.push_back(way(device(op.rank), device(op.peer)));
  } else {
    for (const auto& pair : program().groups.at(static_cast<std::size_t>(op.group)).devices)
      known.push_back(way(pair.at(0), pair.at(1)));
  }
  return known;
}

sim::TaskId PlanMachine::add_transfer(sim::TaskGraph& graph, sim::TaskId begin,
                                      const sim::Operation& op, int index,
                                      std::vector<sim::TaskId>& flows)
{
  const sim::TaskId end = graph.add_join("received", index);
  if (op.group >= 0 && by_itself(op)) {
    const sim::TaskId sent = graph.add_delay("transfer", index, whole(op));
    graph.add_edge(begin, sent);
    graph.add_edge(sent, end);
    return end;
  }
  const auto& all = ways(op);
  for (const Way& one : all) {
    const sim::TaskId call = graph.add_delay("send", index, one.latency);
    graph.add_edge(begin, call);
    const sim::TaskId flow = graph.add_flow("transfer", index, one.path, op.amount);
    graph.add_edge(call, flow);
    graph.keep_limits(flow);
    flows.push_back(flow);
    graph.add_edge(flow, end);
  }
  return end;
}

sim::TaskId PlanMachine::add_synchronisation(sim::TaskGraph& graph, sim::TaskId begin,
                                             const sim::Operation& op, int,
                                             std::vector<sim::TaskId>& flows)
{
  return parts_.synchroniser->add(graph, begin, Bytes(op.amount), buckets_++, fidelity_, flows);
}

std::vector<sim::TaskId> PlanMachine::add_variables(sim::TaskGraph& graph,
                                                    std::vector<sim::TaskId>& flows)
{
  return parts_.synchroniser->fetch(graph, fidelity_, flows);
}

bool PlanMachine::watches(const sim::Operation& op) const
{
  return op.holds > 0 || !parts_.shaped.empty();
}

void PlanMachine::begins(const sim::Operation& op)
{
  hold(op, 1);
  if (by_itself(op))
    return;
  for (sim::TokenBucket* link : parts_.shaped) {
    double units = 0; // of the link that a byte takes
    for (const auto& set : calls(op.group, op.collective))
      units += set->used(link->resource());
    if (units > 0)
      link->begin(op.calls * op.amount * units);
  }
}

void PlanMachine::ends(const sim::Operation& op)
{
  hold(op, -1);
  if (by_itself(op))
    return;
  for (sim::TokenBucket* link : parts_.shaped)
    if (const Calls& sets = calls(op.group, op.collective);
        std::any_of(sets.begin(), sets.end(),
                    [&](const auto& set) { return set->used(link->resource()) > 0; }))
      link->end();
}

// Several that run at once take what one takes: they are one after the other in the device's
// queue.
void PlanMachine::hold(const sim::Operation& op, int change)
{
  if (op.holds <= 0)
    return;
  for (const int rank : program().groups.at(static_cast<std::size_t>(op.group)).ranks) {
    int& running = holding_[rank];
    running += change;
    engine_.set_capacity(machine_.compute(place(rank)), running > 0 ? 1 - op.holds : 1);
  }
}

std::string PlanMachine::call(const sim::Operation& op) const
{
  if (op.kind == sim::WorkKind::synchronise)
    return parts_.synchroniser->call(Bytes(op.amount), fidelity_);
  if (op.kind == sim::WorkKind::transfer)
    return "ncclDevKernel_SendRecv";
  const auto known = calls_.find({op.group, op.collective});
  if (known == calls_.end() || known->second.front()->empty())
    return fmt::format("ncclDevKernel_{}", kernel_of(op.collective));
  const auto choice = known->second.front()->choose(Bytes(op.amount));
  return fmt::format("ncclDevKernel_{}_{}_{}", kernel_of(op.collective), choice.algorithm,
                     choice.protocol);
}

std::string PlanMachine::exchange() const
{
  bool any = false;
  bool other = false;
  for (const sim::Operation& op : program().operations) {
    if (op.kind == sim::WorkKind::synchronise)
      return parts_.synchroniser->name();
    const bool moves = op.kind == sim::WorkKind::collective || op.kind == sim::WorkKind::transfer;
    any |= moves && op.amount > 0;
    other |= moves && op.amount > 0 &&
             (op.kind == sim::WorkKind::transfer || op.phase != sim::Phase::data ||
              op.collective != sim::CollectiveKind::all_reduce);
  }
  return !any ? "" : other ? "exchanges between GPUs" : "all-reduce";
}

// Of data parallelism alone.
std::string PlanMachine::buckets_summary() const
{
  Bytes largest;
  int buckets = 0;
  for (const sim::Operation& op : program().operations)
    if (op.kind == sim::WorkKind::synchronise || op.kind == sim::WorkKind::collective) {
      largest = std::max(largest, Bytes(op.amount));
      ++buckets;
    }
  std::string how;
  if (parts_.synchroniser)
    how = parts_.synchroniser->summary(largest, fidelity_);
  else if (parts_.all_reduce) {
    const auto choice = parts_.all_reduce->choose(largest);
    how = fmt::format("{} {}, {} channels", choice.algorithm, choice.protocol,
                      parts_.all_reduce->communicator().channels.size());
  }
  return buckets == 0 ? ""
                      : fmt::format("{}, {} buckets of up to {}", how, buckets, to_text(largest));
}

std::string PlanMachine::exchange_summary(const sim::Program& program) const
{
  if (plan_.summary.empty())
    return buckets_summary();
  std::map<std::pair<int, sim::CollectiveKind>, double> bytes;
  std::map<std::pair<int, sim::CollectiveKind>, double> largest;
  for (const sim::Operation& op : program.operations)
    if (op.kind == sim::WorkKind::collective) {
      bytes[{op.group, op.collective}] += op.calls * op.amount;
      double& most = largest[{op.group, op.collective}];
      most = std::max(most, op.amount);
    }
  const auto heaviest = std::max_element(
      bytes.begin(), bytes.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  std::string text = plan_.summary;
  if (heaviest == bytes.end())
    return text;
  const auto known = calls_.find(heaviest->first);
  if (known == calls_.end() || known->second.front()->empty())
    return text;
  const auto& call = *known->second.front();
  const auto choice = call.choose(Bytes(largest[heaviest->first]));
  const std::string& group =
      program.groups.at(static_cast<std::size_t>(heaviest->first.first)).name;
  return fmt::format("{}; most bytes: {} of {}, {} {}, {} channels", text,
                     sim::name_of(heaviest->first.second), group, choice.algorithm, choice.protocol,
                     call.communicator().channels.size());
}

} // namespace foretrain::experiments
