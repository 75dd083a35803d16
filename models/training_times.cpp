// What a training job's steps were made of: parts, limits, utilisation, and the last step's tasks.
#include "models/limits.hpp"
#include "models/training_job.hpp"
#include "sim/base/quantity_text.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace foretrain::models {

using sim::TaskId;

// Every rank's step is cut where one of its tasks begins or ends; what follows backward until the
// synchronisation is first waiting for the slowest rank, then coordination, then communication.
StepTimes TrainingJob::account(Seconds start, Seconds end)
{
  StepTimes times;
  const Seconds synchronised = graph_.finished(synchronised_);
  Seconds slowest;
  const std::size_t ranks = random_.size();
  for (std::size_t r = 0; r < ranks; ++r)
    slowest = std::max(slowest, graph_.finished(of_rank(first_rank_.backward.back(), r)));
  Seconds last_wait; // coordination of the last bucket after everyone was ready
  if (!bucket_begin_.empty()) {
    const Seconds ready = graph_.finished(bucket_ready_.back());
    const Seconds agreed = ready + coordination_.wait(ready - step_start(), cycle_phase_);
    last_wait = std::min(std::max(Seconds(0), agreed - slowest),
                         std::max(Seconds(0), synchronised - slowest));
  }
  const double share = 1.0 / static_cast<double>(ranks);
  for (std::size_t r = 0; r < ranks; ++r) {
    const Seconds backward_end = graph_.finished(of_rank(first_rank_.backward.back(), r));
    const Seconds optimizer_end = graph_.finished(of_rank(first_rank_.optimizer, r));
    Seconds forward_start = graph_.started(of_rank(first_rank_.forward.front(), r));
    Seconds fetching; // layers that wait for their variables
    if (!fetched_.empty()) {
      Seconds before =
          input_.empty() ? start : std::max(start, graph_.finished(of_rank(first_rank_.input, r)));
      const Seconds ready = std::min(before, forward_start);
      for (const TaskId of_first : first_rank_.forward) {
        const TaskId stretch = of_rank(of_first, r);
        fetching += std::max(Seconds(0), graph_.started(stretch) - before);
        before = graph_.finished(stretch);
      }
      forward_start = ready;
    }
    Seconds copy;
    if (!input_.empty())
      copy = std::max(Seconds(0), std::min(forward_start, input_[r]->copy_finished()) -
                                      std::max(start, input_[r]->copy_started()));
    times.host_to_device += share * copy;
    times.input_stall += share * (forward_start - start - copy);
    times.compute += share * (backward_end - forward_start - fetching);
    times.exposed_communication += share * fetching;
    times.straggler_wait += share * (slowest - backward_end);
    times.framework += share * last_wait;
    times.exposed_communication += share * (synchronised - slowest - last_wait);
    times.compute += share * (optimizer_end - synchronised);
    times.framework += share * (end - optimizer_end);
  }
  return times;
}

std::vector<sim::LimitedBy> TrainingJob::communication_limits() const
{
  std::vector<sim::LimitedBy> sums;
  for (const TaskId flow : flows_)
    add_limits(sums, graph_.limits(flow));
  return longest_first(std::move(sums));
}

std::vector<sim::LimitedBy> TrainingJob::compute_limits() const
{
  std::vector<sim::LimitedBy> sums;
  for (int r = 0; r < setup_.ranks; ++r) {
    if (!keeps_limits(r))
      continue;
    const auto add = [&](TaskId task) {
      add_limits(sums, graph_.limits(of_rank(task, static_cast<std::size_t>(r))));
    };
    for (const TaskId stretch : first_rank_.forward)
      add(stretch);
    TaskId previous = first_rank_.forward.back();
    for (const TaskId stretch : first_rank_.backward) {
      if (stretch != previous)
        add(stretch);
      previous = stretch;
    }
    add(first_rank_.optimizer);
  }
  return longest_first(std::move(sums));
}

std::vector<sim::LimitedBy> TrainingJob::all_limits() const
{
  std::vector<sim::LimitedBy> sums = communication_limits();
  add_limits(sums, compute_limits());
  for (const auto& pipeline : input_)
    for (const InputPipeline::StageUse& use : pipeline->uses())
      add_limits(sums, use.limits);
  return longest_first(std::move(sums));
}

std::string TrainingJob::exchange() const
{
  return setup_.synchroniser == nullptr ? "" : setup_.synchroniser->name();
}

std::string TrainingJob::exchange_summary() const
{
  if (setup_.synchroniser == nullptr)
    return "";
  Bytes largest;
  for (const Bucket& bucket : setup_.buckets)
    largest = std::max(largest, bucket.size);
  return fmt::format("{}, {} buckets of up to {}",
                     setup_.synchroniser->summary(largest, setup_.fidelity), setup_.buckets.size(),
                     to_text(largest));
}

Bytes TrainingJob::mean_exchange() const
{
  Bytes sum{};
  for (const Bucket& bucket : setup_.buckets)
    sum += bucket.size;
  return sum / static_cast<double>(std::max<std::size_t>(1, setup_.buckets.size()));
}

std::vector<Job::Interval> TrainingJob::last_step() const
{
  std::vector<Interval> intervals;
  const auto add = [&](int rank, std::string name, const char* stream, TaskId first, TaskId last,
                       Bytes size = {}) {
    intervals.push_back(
        {rank, std::move(name), stream, graph_.started(first), graph_.finished(last), size});
  };
  for (int rank = 0; rank < setup_.ranks; ++rank) {
    const RankTasks& tasks = first_rank_;
    const auto add_one = [&](std::string name, const char* stream, TaskId of_first) {
      const TaskId task = of_rank(of_first, static_cast<std::size_t>(rank));
      add(rank, std::move(name), stream, task, task);
    };
    if (tasks.input)
      add_one("wait for batch", "input", tasks.input);
    add(rank, "forward", "compute", of_rank(tasks.forward.front(), static_cast<std::size_t>(rank)),
        of_rank(tasks.forward.back(), static_cast<std::size_t>(rank)));
    TaskId previous = tasks.forward.back();
    for (std::size_t k = 0; k < tasks.backward.size(); ++k) {
      if (tasks.backward[k] != previous)
        add_one(fmt::format("backward {}", k), "compute", tasks.backward[k]);
      previous = tasks.backward[k];
    }
    add_one("optimizer", "compute", tasks.optimizer);
  }
  for (std::size_t b = 0; b < bucket_begin_.size(); ++b) {
    const Bytes size = setup_.buckets[b].size;
    add(-1, setup_.synchroniser->call(size, setup_.fidelity), "communication", bucket_begin_[b],
        bucket_end_[b], size);
  }
  return intervals;
}

} // namespace foretrain::models
