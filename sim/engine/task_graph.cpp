#include "sim/engine/task_graph.hpp"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

namespace foretrain::sim {

TaskGraph::TaskGraph(Engine& engine, std::string name) : engine_(engine), name_(std::move(name))
{
  engine_.expect_end([this] { return unfinished(); });
}

void TaskGraph::reserve(std::size_t tasks, std::size_t edges)
{
  tasks_.reserve(tasks_.size() + tasks);
  edges_.reserve(edges_.size() + edges);
}

// There are a few dozen literals, and the same ones follow each other.
unsigned short TaskGraph::label_of(const char* text)
{
  const auto known = std::find(labels_.rbegin(), labels_.rend(), text);
  if (known != labels_.rend())
    return static_cast<unsigned short>(labels_.rend() - known - 1);
  labels_.push_back(text);
  return static_cast<unsigned short>(labels_.size() - 1);
}

TaskId TaskGraph::add(Kind kind, const char* label, int label_index, double amount, int detail)
{
  if (frozen_)
    throw std::logic_error("a task graph cannot grow once it has been started");
  tasks_.push_back({amount, label_index, detail, kNotKept, label_of(label), kind});
  return {static_cast<int>(tasks_.size()) - 1};
}

TaskId TaskGraph::add_join(const char* label, int i)
{
  return add(Kind::join, label, i, 0, -1);
}

TaskId TaskGraph::add_delay(const char* label, int i, Seconds duration)
{
  return add(Kind::delay, label, i, duration.value(), -1);
}

TaskId TaskGraph::add_delay(const char* label, int i, DelayRule rule)
{
  rules_.push_back(std::move(rule));
  return add(Kind::rule, label, i, 0, static_cast<int>(rules_.size()) - 1);
}

TaskId TaskGraph::add_flow(const char* label, int i, PathPtr path, double amount, double priority)
{
  engine_.declare(path);
  // Consecutive flows over one path (the layers on a GPU) share the entry.
  if (flows_.empty() || flows_.back().path != path || flows_.back().priority != priority)
    flows_.push_back({std::move(path), priority});
  return add(Kind::flow, label, i, amount, static_cast<int>(flows_.size()) - 1);
}

TaskId TaskGraph::add_foreign(const char* label, int i, ForeignWork work)
{
  foreign_.push_back(std::move(work));
  return add(Kind::foreign, label, i, 0, static_cast<int>(foreign_.size()) - 1);
}

void TaskGraph::add_edge(TaskId before, TaskId after)
{
  if (frozen_ || !before || !after || before.value >= size() || after.value >= size())
    throw std::logic_error("an edge between tasks that are not there");
  edges_.emplace_back(before.value, after.value);
}

void TaskGraph::add_edges(std::span<const TaskId> before, TaskId after)
{
  for (const TaskId task : before)
    add_edge(task, after);
}

void TaskGraph::set_amount(TaskId task, double amount)
{
  tasks_[index(task)].amount = amount;
}

void TaskGraph::keep_limits(TaskId task)
{
  tasks_[index(task)].limits = kNoLimit;
}

std::vector<LimitedBy> TaskGraph::limits(TaskId task) const
{
  std::vector<LimitedBy> found;
  const int first = tasks_[index(task)].limits;
  if (first == kNotKept)
    throw std::logic_error("limits of a task that keeps none");
  for (int i = first; i != kNoLimit; i = limits_[static_cast<std::size_t>(i)].next) {
    const Limit& limit = limits_[static_cast<std::size_t>(i)];
    found.push_back({limit.resource, limit.time});
  }
  return found;
}

void TaskGraph::clear_limits()
{
  limits_.clear();
  for (Task& task : tasks_)
    if (task.limits != kNotKept)
      task.limits = kNoLimit;
}

void TaskGraph::freeze()
{
  const std::size_t n = tasks_.size();
  first_successor_.assign(n + 2, 0); // counted two places on, filled one place on
  predecessors_.assign(n, 0);
  times_.assign(n, {});
  for (const auto& [before, after] : edges_) {
    ++first_successor_[static_cast<std::size_t>(before) + 2];
    ++predecessors_[static_cast<std::size_t>(after)];
  }
  for (std::size_t i = 0; i < n; ++i)
    first_successor_[i + 2] += first_successor_[i + 1];
  successors_.resize(edges_.size());
  for (const auto& [before, after] : edges_) {
    int& next = first_successor_[static_cast<std::size_t>(before) + 1];
    successors_[static_cast<std::size_t>(next++)] = after;
  }
  edges_.clear();
  edges_.shrink_to_fit();
  for (std::size_t i = 0; i < n; ++i)
    if (predecessors_[i] == 0)
      roots_.push_back(static_cast<int>(i));
  frozen_ = true;
}

void TaskGraph::start(std::function<void()> done)
{
  if (!frozen_)
    freeze();
  if (left_ > 0)
    throw std::logic_error("a task graph is started while it runs");
  done_ = std::move(done);
  waiting_for_ = predecessors_;
  left_ = size();
  if (left_ > 0 && roots_.empty())
    throw std::logic_error("task graph '" + name_ + "' is a cycle");
  if (left_ == 0) {
    engine_.after(Seconds(0), std::move(done_));
    return;
  }
  for (const int task : roots_)
    begin(task);
}

void TaskGraph::begin(int task)
{
  const auto i = static_cast<std::size_t>(task);
  const Task& it = tasks_[i];
  times_[i].start = engine_.now().value();
  switch (it.kind) {
  case Kind::join:
    end(task);
    return;
  case Kind::delay:
    engine_.after(Seconds(it.amount), [this, task] { end(task); });
    return;
  case Kind::rule:
    engine_.after(rules_[static_cast<std::size_t>(it.detail)](engine_.now()),
                  [this, task] { end(task); });
    return;
  case Kind::foreign:
    foreign_[static_cast<std::size_t>(it.detail)]([this, task] { end(task); });
    return;
  case Kind::flow: {
    const Flow& flow = flows_[static_cast<std::size_t>(it.detail)];
    engine_.start({flow.path, it.amount, flow.priority, labels_[it.label]},
                  [this, task](const FlowRecord& record) { end_flow(task, record); });
    return;
  }
  }
}

void TaskGraph::end_flow(int task, const FlowRecord& record)
{
  if (tasks_[static_cast<std::size_t>(task)].limits != kNotKept)
    for (const LimitedBy& limit : *record.limited_by)
      add_limit(task, limit);
  end(task);
}

void TaskGraph::add_limit(int task, const LimitedBy& limit)
{
  int* link = &tasks_[static_cast<std::size_t>(task)].limits;
  while (*link != kNoLimit) {
    Limit& known = limits_[static_cast<std::size_t>(*link)];
    if (known.resource == limit.resource) {
      known.time += limit.time;
      return;
    }
    link = &known.next;
  }
  *link = static_cast<int>(limits_.size());
  limits_.push_back({limit.time, limit.resource, kNoLimit});
}

// Joins end as soon as they begin: an explicit stack keeps long chains of them off the call stack.
void TaskGraph::end(int task)
{
  std::vector<int> ended{task};
  while (!ended.empty()) {
    const auto i = static_cast<std::size_t>(ended.back());
    ended.pop_back();
    times_[i].finish = engine_.now().value();
    --left_;
    for (int k = first_successor_[i]; k < first_successor_[i + 1]; ++k) {
      const int next = successors_[static_cast<std::size_t>(k)];
      if (--waiting_for_[static_cast<std::size_t>(next)] > 0)
        continue;
      if (tasks_[static_cast<std::size_t>(next)].kind == Kind::join) {
        times_[static_cast<std::size_t>(next)].start = engine_.now().value();
        ended.push_back(next);
      } else {
        begin(next);
      }
    }
  }
  if (left_ == 0 && done_) {
    const auto done = std::move(done_);
    done_ = nullptr;
    done();
  }
}

std::string TaskGraph::describe(TaskId task) const
{
  const Task& it = tasks_[index(task)];
  return fmt::format("{} {} of {}", labels_[it.label], it.label_index, name_);
}

std::vector<std::string> TaskGraph::unfinished() const
{
  std::vector<std::string> found;
  if (left_ <= 0)
    return found;
  for (int i = 0; i < size() && found.size() < 9; ++i) {
    const int waits = waiting_for_[static_cast<std::size_t>(i)];
    if (waits > 0)
      found.push_back(fmt::format("{} waits for {} other tasks", describe({i}), waits));
  }
  if (found.empty())
    found.push_back(fmt::format("{} has {} tasks under way", name_, left_));
  return found;
}

} // namespace foretrain::sim
