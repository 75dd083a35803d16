#include "sim/workload/executor.hpp"

#include <algorithm>
#include <tuple>

namespace foretrain::sim {

Executor::Executor(Engine& engine, const Program& program, WorkMachine& machine)
    : program_(program), machine_(machine), graph_(engine, program.name)
{
  program.check();
  order_streams();
  const int count = static_cast<int>(program.operations.size());
  for (int i = 0; i < count; ++i) {
    const TaskId begin = graph_.add_join("begin", i);
    begin_.push_back(begin);
    end_.push_back(add(program.operations[static_cast<std::size_t>(i)], i, begin));
  }
  for (int i = 0; i < count; ++i) {
    const auto op = static_cast<std::size_t>(i);
    for (int k = first_before_[op]; k < first_before_[op + 1]; ++k)
      graph_.add_edge(end_[static_cast<std::size_t>(before_[static_cast<std::size_t>(k)])],
                      begin_[op]);
  }
}

void Executor::order_streams()
{
  auto edges = program_.all_edges();
  std::sort(edges.begin(), edges.end(), [](const auto& a, const auto& b) {
    return std::tie(a.second, a.first) < std::tie(b.second, b.first);
  });
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  first_before_.assign(program_.operations.size() + 1, 0);
  for (const auto& [first, second] : edges) {
    ++first_before_[static_cast<std::size_t>(second) + 1];
    before_.push_back(first);
  }
  for (std::size_t i = 1; i < first_before_.size(); ++i)
    first_before_[i] += first_before_[i - 1];
}

TaskId Executor::add(const Operation& op, int index, TaskId begin)
{
  const auto follow = [&](TaskId task) {
    graph_.add_edge(begin, task);
    return task;
  };
  switch (op.kind) {
  case WorkKind::compute:
    return follow(graph_.add_flow("kernels", index, machine_.compute(op.rank), op.amount));
  case WorkKind::host:
    return follow(graph_.add_flow("host work", index, machine_.host(op.rank), op.amount));
  case WorkKind::offload:
    return follow(
        graph_.add_flow("offload", index, machine_.offload(op.rank, op.to_host), op.amount));
  case WorkKind::fetch:
    return follow(graph_.add_foreign("batch", index, machine_.fetch(op.rank)));
  case WorkKind::collective:
    return op.amount > 0 ? machine_.add_collective(graph_, begin, op, index, flows_) : begin;
  case WorkKind::transfer:
    return op.amount > 0 ? machine_.add_transfer(graph_, begin, op, index, flows_) : begin;
  case WorkKind::wait:
    return follow(graph_.add_delay("wait", index, Seconds(op.amount)));
  case WorkKind::join:
    break;
  }
  return begin;
}

void Executor::start(const std::vector<double>& stretch, std::function<void()> done)
{
  for (std::size_t i = 0; i < program_.operations.size(); ++i) {
    const Operation& op = program_.operations[i];
    if (op.kind == WorkKind::compute)
      graph_.set_amount(end_[i], stretch[static_cast<std::size_t>(op.rank)] * op.amount);
  }
  graph_.start(std::move(done));
}

OpId Executor::released_by(OpId op) const
{
  OpId last;
  for (int k = first_before_[index(op)]; k < first_before_[index(op) + 1]; ++k) {
    const OpId before{before_[static_cast<std::size_t>(k)]};
    if (!last || finished(before) > finished(last))
      last = before;
  }
  return last;
}

Seconds Executor::arrived(OpId collective, int rank) const
{
  bool found = false;
  Seconds last;
  // Joins, and waits that are nobody's, stand for what lies before them.
  std::vector<OpId> open{collective};
  while (!open.empty()) {
    const OpId op = open.back();
    open.pop_back();
    for (int k = first_before_[index(op)]; k < first_before_[index(op) + 1]; ++k) {
      const OpId before{before_[static_cast<std::size_t>(k)]};
      const Operation& it = program_.operations[index(before)];
      const bool nobodys = it.kind == WorkKind::join || it.stream < 0;
      if (nobodys && it.kind != WorkKind::collective) {
        open.push_back(before);
      } else if (it.kind == WorkKind::collective || it.rank == rank) {
        last = std::max(last, finished(before));
        found = true;
      }
    }
  }
  return found ? std::min(last, started(collective)) : started(collective);
}

} // namespace foretrain::sim
