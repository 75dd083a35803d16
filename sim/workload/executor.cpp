#include "sim/workload/executor.hpp"

#include <algorithm>

namespace foretrain::sim {

Executor::Executor(Engine& engine, const Program& program, const WorkOrder& order,
                   WorkMachine& machine)
    : engine_(engine), program_(program), machine_(machine), graph_(engine, program.name)
{
  const int count = static_cast<int>(program.operations.size());
  for (int i = 0; i < count; ++i) {
    const TaskId begin = graph_.add_join("begin", i);
    begin_.push_back(begin);
    end_.push_back(add(program.operations[static_cast<std::size_t>(i)], i, begin));
  }
  add_variables();
  for (int i = 0; i < count; ++i)
    for (const int first : order.before(i))
      graph_.add_edge(end_[static_cast<std::size_t>(first)], begin_[static_cast<std::size_t>(i)]);
}

TaskId Executor::add(const Operation& op, int index, TaskId begin)
{
  const auto follow = [&](TaskId task) {
    graph_.add_edge(begin, task);
    return task;
  };
  switch (op.kind) {
  case WorkKind::compute:
    return follow(
        graph_.add_flow("kernels", index, machine_.compute(op.rank), op.amount, kKernelPriority));
  case WorkKind::host:
    return follow(graph_.add_flow("host work", index, machine_.host(op.rank), op.amount));
  case WorkKind::offload:
    return follow(
        graph_.add_flow("offload", index, machine_.offload(op.rank, op.to_host), op.amount));
  case WorkKind::fetch:
    return follow(graph_.add_foreign("batch", index, machine_.fetch(op.rank)));
  case WorkKind::collective:
    return op.amount > 0 ? add_collective(op, index, begin) : begin;
  case WorkKind::transfer:
    return op.amount > 0 ? machine_.add_transfer(graph_, begin, op, index, flows_) : begin;
  case WorkKind::agree:
    return follow(graph_.add_delay("coordination", index, [this, &op](Seconds now) {
      return until_agreed(op, now - step_start_, phase_);
    }));
  case WorkKind::synchronise:
    return machine_.add_synchronisation(graph_, begin, op, index, flows_);
  case WorkKind::wait:
    return follow(graph_.add_delay("wait", index, Seconds(op.amount)));
  case WorkKind::variables: // when all is there that is synchronised
  case WorkKind::join:
    break;
  }
  return begin;
}

TaskId Executor::add_collective(const Operation& op, int index, TaskId begin)
{
  if (!machine_.watches(op))
    return machine_.add_collective(graph_, begin, op, index, flows_);
  const TaskId first = graph_.add_delay("collective begins", index, [this, &op](Seconds) {
    machine_.begins(op);
    return Seconds(0);
  });
  graph_.add_edge(begin, first);
  const TaskId last = graph_.add_delay("collective ends", index, [this, &op](Seconds) {
    machine_.ends(op);
    return Seconds(0);
  });
  graph_.add_edge(machine_.add_collective(graph_, first, op, index, flows_), last);
  return last;
}

void Executor::add_variables()
{
  const auto& operations = program_.operations;
  const auto brings = [](const Operation& op) { return op.kind == WorkKind::variables; };
  if (std::none_of(operations.begin(), operations.end(), brings))
    return;
  const std::vector<TaskId> brought = machine_.add_variables(graph_, flows_);
  std::size_t next = 0;
  for (std::size_t i = 0; i < operations.size(); ++i)
    if (brings(operations[i]))
      end_[i] = brought.at(next++);
}

void Executor::start(const std::vector<double>& stretch, double phase, std::function<void()> done)
{
  step_start_ = engine_.now();
  phase_ = phase;
  for (std::size_t i = 0; i < program_.operations.size(); ++i) {
    const Operation& op = program_.operations[i];
    if (varies(op))
      graph_.set_amount(end_[i], stretch[static_cast<std::size_t>(op.rank)] * op.amount);
  }
  graph_.start(std::move(done));
}

void Executor::tell(StepDates& dates) const
{
  for (int i = 0; i < static_cast<int>(begin_.size()); ++i) {
    const auto op = static_cast<std::size_t>(i);
    dates.set({i}, graph_.finished(begin_[op]), graph_.finished(end_[op]));
  }
}

} // namespace foretrain::sim
