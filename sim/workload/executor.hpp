// Makes tasks of a work program and runs them, step after step.
#pragma once

#include "sim/engine/task_graph.hpp"
#include "sim/workload/step_dates.hpp"

#include <functional>
#include <vector>

namespace foretrain::sim {

/// Kernels share GPUs with kernels alone. Those that hold a core go by its priority where that is
/// lower (MaxMin::add_follower): below any of these all kernels are alike.
inline constexpr double kKernelPriority = 1e-12;

/// What a program's operations are done with on one machine. Each `add` appends the tasks of an
/// operation that begins after `begin` and returns the last one; tasks whose limits are kept are
/// appended to `flows`.
class WorkMachine {
public:
  virtual ~WorkMachine() = default;
  /// What a second of kernels of the rank takes.
  virtual PathPtr compute(int rank) = 0;
  /// What a second of one of its host threads takes.
  virtual PathPtr host(int rank) = 0;
  /// From device to host memory or back; per byte.
  virtual PathPtr offload(int rank, bool to_host) = 0;
  /// Asks for the next batch of the rank's input.
  virtual TaskGraph::ForeignWork fetch(int rank) = 0;
  virtual TaskId add_collective(TaskGraph& graph, TaskId begin, const Operation& op, int index,
                                std::vector<TaskId>& flows) = 0;
  virtual TaskId add_transfer(TaskGraph& graph, TaskId begin, const Operation& op, int index,
                              std::vector<TaskId>& flows) = 0;
  /// A bucket of gradients by servers or host memory; those of a program come in its order.
  virtual TaskId add_synchronisation(TaskGraph& graph, TaskId begin, const Operation& op, int index,
                                     std::vector<TaskId>& flows) = 0;
  /// Called once, after the last of them: what brings each bucket's values to the devices from the
  /// beginning of a step on.
  virtual std::vector<TaskId> add_variables(TaskGraph& graph, std::vector<TaskId>& flows) = 0;
  /// Whether it wants to know when a collective begins and ends: what it takes of its devices, and
  /// of links that let bursts through.
  virtual bool watches(const Operation& op) const = 0;
  virtual void begins(const Operation& op) = 0;
  virtual void ends(const Operation& op) = 0;
};

class Executor {
public:
  /// All of them must outlive this. The program is whole (Program::check).
  Executor(Engine& engine, const Program& program, const WorkOrder& order, WorkMachine& machine);

  /// Runs one step from now on; operations of rank r that vary take stretch[r] times as long.
  /// `phase`: of the loop that asks for agreements, see until_agreed().
  void start(const std::vector<double>& stretch, double phase, std::function<void()> done);

  /// Of the last step.
  void tell(StepDates& dates) const;

  const Program& program() const { return program_; }
  TaskGraph& graph() { return graph_; }
  const TaskGraph& graph() const { return graph_; }
  /// Tasks of collectives and transfers whose limits are kept.
  const std::vector<TaskId>& flows() const { return flows_; }
  /// Tasks of kernels of a rank, in the order of its first stream.
  TaskId task_of(OpId op) const { return end_[index(op)]; }

private:
  static std::size_t index(OpId op) { return static_cast<std::size_t>(op.value); }
  TaskId add(const Operation& op, int index, TaskId begin);
  TaskId add_collective(const Operation& op, int index, TaskId begin);
  void add_variables();

  Engine& engine_;
  const Program& program_;
  WorkMachine& machine_;
  TaskGraph graph_;
  Seconds step_start_;
  double phase_ = 0;
  std::vector<TaskId> begin_, end_; // of each operation
  std::vector<TaskId> flows_;
};

} // namespace foretrain::sim
