// A machine of plain resources, on which a program's times are closed forms.
#pragma once

#include "sim/workload/executor.hpp"

#include <map>
#include <utility>
#include <vector>

namespace foretrain::test {

/// A GPU each; exchanges take bytes / rate over a link of their own, one per group or pair.
class PlainMachine final : public sim::WorkMachine {
public:
  PlainMachine(sim::Engine& engine, int ranks, BytesPerSecond rate = BytesPerSecond(1))
      : engine_(engine), rate_(rate)
  {
    for (int r = 0; r < ranks; ++r)
      gpus_.push_back(path());
  }
  /// Rank 1 on the GPU of rank 0; its kernels hold as much of a core.
  void share_first_gpu(sim::Held core)
  {
    gpus_.at(1) = sim::make_path(gpus_.at(0)->uses, {}, 1.0, std::move(core));
  }
  sim::PathPtr compute(int rank) override { return gpus_.at(static_cast<std::size_t>(rank)); }
  sim::PathPtr host(int rank) override { return link({-1, rank}); }
  sim::PathPtr offload(int rank, bool to_host) override { return link({to_host ? -2 : -3, rank}); }
  sim::TaskGraph::ForeignWork fetch(int) override
  {
    return [this](std::function<void()> done) { engine_.after(Seconds(0.25), std::move(done)); };
  }
  sim::TaskId add_collective(sim::TaskGraph& graph, sim::TaskId begin, const sim::Operation& op,
                             int index, std::vector<sim::TaskId>& flows) override
  {
    return add(graph, begin, link({-4, op.group}), op, index, flows);
  }
  sim::TaskId add_transfer(sim::TaskGraph& graph, sim::TaskId begin, const sim::Operation& op,
                           int index, std::vector<sim::TaskId>& flows) override
  {
    return add(graph, begin, link({op.rank, op.peer}), op, index, flows);
  }
  /// One after the other as they come; variables are there 0.5 s after the step's start.
  sim::TaskId add_synchronisation(sim::TaskGraph& graph, sim::TaskId begin,
                                  const sim::Operation& op, int index,
                                  std::vector<sim::TaskId>& flows) override
  {
    ++synchronised_;
    return add(graph, begin, link({-5, op.group}), op, index, flows);
  }
  std::vector<sim::TaskId> add_variables(sim::TaskGraph& graph, std::vector<sim::TaskId>&) override
  {
    std::vector<sim::TaskId> brought;
    for (int i = 0; i < synchronised_; ++i)
      brought.push_back(graph.add_delay("variables", i, Seconds(0.5 * (i + 1))));
    return brought;
  }
  bool watches(const sim::Operation& op) const override { return op.holds > 0; }
  void begins(const sim::Operation& op) override { set_capacity(1 - op.holds); }
  void ends(const sim::Operation&) override { set_capacity(1); }

private:
  void set_capacity(double capacity)
  {
    for (const sim::PathPtr& gpu : gpus_)
      engine_.set_capacity({gpu->uses.front().resource}, capacity);
  }
  sim::PathPtr path() { return sim::make_path({{engine_.add_resource("plain", 1.0).value, 1.0}}); }
  sim::PathPtr link(std::pair<int, int> key)
  {
    if (links_.count(key) == 0)
      links_[key] = path();
    return links_[key];
  }
  sim::TaskId add(sim::TaskGraph& graph, sim::TaskId begin, const sim::PathPtr& path,
                  const sim::Operation& op, int index, std::vector<sim::TaskId>& flows)
  {
    const sim::TaskId task = graph.add_flow("exchange", index, path, op.amount / rate_.value());
    graph.add_edge(begin, task);
    flows.push_back(task);
    return task;
  }

  sim::Engine& engine_;
  BytesPerSecond rate_;
  int synchronised_ = 0;
  std::vector<sim::PathPtr> gpus_;
  std::map<std::pair<int, int>, sim::PathPtr> links_;
};

} // namespace foretrain::test
