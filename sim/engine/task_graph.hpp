// Work as the engine sees it: tasks with edges, run once or many times.
//
// A task starts when all its predecessors have ended; same-date starts follow the order in which
// they became due. Order on a GPU stream must be an edge: two flows on one GPU without an edge
// share it.
#pragma once

#include "sim/engine/engine.hpp"

#include <deque>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace foretrain::sim {

struct TaskId {
  int value = -1;
  explicit operator bool() const { return value >= 0; }
  auto operator<=>(const TaskId&) const = default;
};

class TaskGraph {
public:
  /// Seconds to wait, asked when the task starts.
  using DelayRule = std::function<Seconds(Seconds now)>;
  /// Starts foreign work and calls the given function once when it has ended.
  using ForeignWork = std::function<void(std::function<void()> done)>;

  explicit TaskGraph(Engine& engine, std::string name = "graph");

  /// Makes room for so many more, where they are many: lists that grow by doubling need both sizes.
  void reserve(std::size_t tasks, std::size_t edges);

  /// `label` is a text that lives as long as the graph (a literal); `index` tells its kind apart.
  TaskId add_join(const char* label, int index = 0);
  TaskId add_delay(const char* label, int index, Seconds duration);
  TaskId add_delay(const char* label, int index, DelayRule rule);
  TaskId add_flow(const char* label, int index, PathPtr path, double amount, double priority = 1);
  TaskId add_foreign(const char* label, int index, ForeignWork work);

  void add_edge(TaskId before, TaskId after);
  void add_edges(std::span<const TaskId> before, TaskId after);

  void set_amount(TaskId task, double amount);
  /// Adds up what limited the flows of this task, over all runs: cleared by clear_limits().
  void keep_limits(TaskId task);
  std::vector<LimitedBy> limits(TaskId task) const;
  void clear_limits();

  /// Runs the graph from now on, from its tasks without predecessors; `done` is called when every
  /// task has ended. May be called again from `done`. The first call freezes the edges.
  void start(std::function<void()> done);

  int size() const { return static_cast<int>(tasks_.size()); }
  Seconds started(TaskId task) const { return Seconds(times_[index(task)].start); }
  Seconds finished(TaskId task) const { return Seconds(times_[index(task)].finish); }
  std::string describe(TaskId task) const;

private:
  enum class Kind : unsigned char { join, delay, rule, flow, foreign };
  struct Task {
    double amount = 0; // seconds of a delay, progress of a flow
    int label_index = 0;
    int detail = -1;          // index into rules_, flows_ or foreign_
    int limits = kNotKept;    // first of its limits_
    unsigned short label = 0; // index into labels_
    Kind kind = Kind::join;
  };
  struct Limit {
    Seconds time;
    int resource;
    int next; // of the same task, or kNoLimit
  };
  struct Flow {
    PathPtr path;
    double priority;
  };
  struct Times {
    double start = 0;
    double finish = 0;
  };

  static constexpr int kNotKept = -2; // Task::limits
  static constexpr int kNoLimit = -1;

  static std::size_t index(TaskId task) { return static_cast<std::size_t>(task.value); }
  TaskId add(Kind kind, const char* label, int label_index, double amount, int detail);
  void freeze();
  void begin(int task);
  void end(int task);
  unsigned short label_of(const char* text);
  void add_limit(int task, const LimitedBy& limit);
  void end_flow(int task, const FlowRecord& record);
  std::vector<std::string> unfinished() const;

  Engine& engine_;
  std::string name_;
  std::vector<Task> tasks_;
  std::vector<DelayRule> rules_;
  std::vector<Flow> flows_;
  std::vector<ForeignWork> foreign_;
  std::vector<const char*> labels_;
  std::deque<Limit> limits_; // millions, where host cores limit kernels: not two copies of them
  std::vector<std::pair<int, int>> edges_; // before, after: until frozen
  std::vector<int> successors_;            // compressed rows
  std::vector<int> first_successor_;
  std::vector<int> predecessors_; // how many
  std::vector<int> waiting_for_;
  std::vector<Times> times_;
  std::vector<int> roots_;
  std::function<void()> done_;
  int left_ = 0;
  bool frozen_ = false;
};

} // namespace foretrain::sim
