#include "models/servers/host_all_reduce.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace foretrain::models {

using sim::TaskId;

namespace {
// A sum reads two streams and writes one.
constexpr double kPassesOfAddition = 3;
} // namespace

// The graph of one bucket under construction: stages that follow each other.
class HostAllReduce::Call {
public:
  Call(sim::TaskGraph& graph, int index, Fidelity fidelity, std::vector<TaskId>& flows)
      : graph_(graph), index_(index), fidelity_(fidelity), flows_(flows)
  {
  }

  // Everybody moves `bytes`; nobody goes on before all have.
  TaskId move(const char* stage, const std::vector<sim::Hop>& hops, Bytes bytes, TaskId after)
  {
    const TaskId done = graph_.add_join(stage, index_);
    for (const sim::PathPtr& way : ways(hops, fidelity_)) {
      const TaskId task = graph_.add_flow(stage, index_, way, bytes.value());
      graph_.add_edge(after, task);
      graph_.keep_limits(task);
      flows_.push_back(task);
      graph_.add_edge(task, done);
    }
    return done;
  }

  TaskId wait(const char* label, Seconds duration, TaskId after)
  {
    const TaskId task = graph_.add_delay(label, index_, duration);
    graph_.add_edge(after, task);
    return task;
  }

  TaskId local(const char* stage, const std::vector<std::unique_ptr<Collective>>& calls, Bytes size,
               TaskId after)
  {
    const TaskId done = graph_.add_join(stage, index_);
    graph_.add_edge(after, done);
    const Fidelity fidelity = fidelity_ == Fidelity::edges ? Fidelity::edges : Fidelity::coupled;
    for (const auto& call : calls)
      graph_.add_edge(call->add(graph_, after, size, index_, fidelity, flows_), done);
    return done;
  }

private:
  sim::TaskGraph& graph_;
  int index_;
  Fidelity fidelity_;
  std::vector<TaskId>& flows_;
};

HostAllReduce::HostAllReduce(sim::Engine& engine, sim::HostLinks links, HostExchange rules,
                             const Library& library, bool half)
    : links_(std::move(links)), rules_(rules),
      sum_rate_(half && rules.half_sum_rate.value() > 0 ? rules.half_sum_rate : rules.sum_rate),
      last_(static_cast<std::size_t>(rules.concurrent))
{
  for (const sim::Communicator& comm : links_.local)
    if (comm.ranks > 1) // to one GPU as from one GPU to all
      local_.push_back(
          std::make_unique<Collective>(engine, comm, library, Operation::broadcast, "auto"));
}

HostAllReduce::Ways HostAllReduce::ways(const std::vector<sim::Hop>& hops, Fidelity fidelity)
{
  Ways ways;
  std::vector<sim::Use> uses;
  double cap = sim::MaxMin::kNoCap;
  Seconds latency;
  for (const sim::Hop& hop : hops) {
    if (fidelity != Fidelity::coupled) {
      ways.push_back(sim::make_path(hop.uses, hop.latency, hop.cap));
      continue;
    }
    uses.insert(uses.end(), hop.uses.begin(), hop.uses.end());
    if (hop.cap > 0)
      cap = cap > 0 ? std::min(cap, hop.cap) : hop.cap;
    latency = std::max(latency, hop.latency);
  }
  if (fidelity == Fidelity::coupled)
    ways.push_back(sim::make_path(std::move(uses), latency, cap));
  return ways;
}

// One thread of each process adds, per byte that arrived.
std::vector<sim::Hop> HostAllReduce::sums() const
{
  std::vector<sim::Hop> hops(links_.cores.size());
  for (std::size_t p = 0; p < hops.size(); ++p) {
    hops[p].uses = {{links_.cores[p], 1 / sum_rate_.value()},
                    {links_.memory[p], kPassesOfAddition}};
    hops[p].cap = sum_rate_.value();
  }
  return hops;
}

TaskId HostAllReduce::exchange(Call& call, Bytes size, TaskId at) const
{
  const int processes = links_.processes();
  const Bytes part = (processes - 1.0) / processes * size;
  // A path carries the latency of one round itself.
  Seconds latency;
  for (const sim::Hop& hop : links_.next)
    latency = std::max(latency, hop.latency);
  const Seconds others = (rules_.rounds(processes) - 1.0) * latency;
  at = call.move("exchange", links_.next, part, call.wait("latency", others, at));
  at = call.move("sum", sums(), part, at);
  return call.move("exchange", links_.next, part, call.wait("latency", others, at));
}

TaskId HostAllReduce::add(sim::TaskGraph& graph, TaskId begin, Bytes size, int index,
                          Fidelity fidelity, std::vector<TaskId>& flows)
{
  const auto lane = static_cast<std::size_t>(next_++ % rules_.concurrent);
  const int processes = links_.processes();
  Call call(graph, index, fidelity, flows);
  TaskId at = graph.add_join("turn", index);
  graph.add_edge(begin, at);
  if (last_[lane])
    graph.add_edge(last_[lane], at);

  int gpus = 1;
  for (const sim::Communicator& comm : links_.local)
    gpus = std::max(gpus, comm.ranks);
  const bool on_devices = size >= rules_.on_devices;
  if (on_devices) {
    at = call.local("add in node", local_, size, at);
    at = call.move("copy to host", links_.first_to_host, size, at);
  } else {
    at = call.move("copy to host", links_.all_to_host, size, at);
    if (gpus > 1)
      at = call.move("sum", sums(), (gpus - 1.0) * size, at);
  }

  if (processes > 1)
    at = exchange(call, size, at);
  if (on_devices) {
    at = call.move("copy to GPUs", links_.first_to_device, size, at);
    at = call.local("distribute in node", local_, size, at);
  } else {
    at = call.move("copy to GPUs", links_.all_to_device, size, at);
  }
  last_[lane] = at;
  return at;
}

std::string HostAllReduce::summary(Bytes, Fidelity) const
{
  return fmt::format("{} processes through host memory, {} buckets at a time", links_.processes(),
                     rules_.concurrent);
}

std::string HostAllReduce::call(Bytes, Fidelity) const
{
  return std::string("all-reduce on hosts, ") + word_of(rules_.steps);
}

} // namespace foretrain::models
