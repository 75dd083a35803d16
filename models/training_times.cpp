// What a training job's steps were made of: parts, limits, utilisation, and the last step's tasks.
#include "models/training_job.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace foretrain::models {

using sim::TaskId;

std::vector<double> TrainingJob::consumed_so_far() const
{
  std::vector<double> consumed;
  for (int r = 0; r < engine_.resource_count(); ++r)
    consumed.push_back(engine_.consumed({r}));
  return consumed;
}

double TrainingJob::utilisation(sim::ResourceId resource) const
{
  const auto r = static_cast<std::size_t>(resource.value);
  const double capacity = engine_.capacity(resource) * (last_end_ - measured_start_).value();
  if (capacity <= 0 || r >= consumed_after_.size())
    return 0;
  return std::clamp((consumed_after_[r] - consumed_before_[r]) / capacity, 0.0, 1.0);
}

// Every rank's step is cut where one of its tasks begins or ends; what follows backward until the
// synchronisation is first waiting for the slowest rank, then coordination, then communication.
void TrainingJob::account(Seconds start, Seconds end)
{
  const Seconds synchronised = graph_.finished(synchronised_);
  Seconds slowest;
  for (const RankTasks& rank : ranks_)
    slowest = std::max(slowest, graph_.finished(rank.backward.back()));
  Seconds last_wait; // coordination of the last bucket after everyone was ready
  if (!bucket_begin_.empty()) {
    const Seconds ready = graph_.finished(bucket_ready_.back());
    const Seconds agreed = ready + until_cycle(ready) + setup_.framework.coordination +
                           setup_.ranks * setup_.framework.coordination_per_rank;
    last_wait = std::min(std::max(Seconds(0), agreed - slowest),
                         std::max(Seconds(0), synchronised - slowest));
  }
  const double share = 1.0 / static_cast<double>(ranks_.size());
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    const RankTasks& rank = ranks_[r];
    const Seconds backward_end = graph_.finished(rank.backward.back());
    const Seconds optimizer_end = graph_.finished(rank.optimizer);
    const Seconds forward_start = graph_.started(rank.forward);
    Seconds copy;
    if (!input_.empty())
      copy = std::max(Seconds(0), std::min(forward_start, input_[r]->copy_finished()) -
                                      std::max(start, input_[r]->copy_started()));
    sums_.host_to_device += share * copy;
    sums_.input_stall += share * (forward_start - start - copy);
    sums_.compute += share * (backward_end - forward_start);
    sums_.straggler_wait += share * (slowest - backward_end);
    sums_.framework += share * last_wait;
    sums_.exposed_communication += share * (synchronised - slowest - last_wait);
    sums_.compute += share * (optimizer_end - synchronised);
    sums_.framework += share * (end - optimizer_end);
  }
}

StepTimes TrainingJob::mean_times() const
{
  const double n = std::max<double>(1, static_cast<double>(step_times_.size()));
  StepTimes mean = sums_;
  for (Seconds* part : {&mean.compute, &mean.exposed_communication, &mean.input_stall,
                        &mean.host_to_device, &mean.straggler_wait, &mean.framework})
    *part = *part / n;
  return mean;
}

namespace {

void add_limits(std::vector<sim::LimitedBy>& sums, const std::vector<sim::LimitedBy>& limits)
{
  for (const sim::LimitedBy& limit : limits) {
    const auto known = std::find_if(sums.begin(), sums.end(), [&](const sim::LimitedBy& sum) {
      return sum.resource == limit.resource;
    });
    if (known == sums.end())
      sums.push_back(limit);
    else
      known->time += limit.time;
  }
}

std::vector<sim::LimitedBy> longest_first(std::vector<sim::LimitedBy> sums)
{
  std::stable_sort(sums.begin(), sums.end(),
                   [](const auto& a, const auto& b) { return a.time > b.time; });
  return sums;
}

} // namespace

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
    const RankTasks& rank = ranks_[static_cast<std::size_t>(r)];
    add_limits(sums, graph_.limits(rank.forward));
    TaskId previous = rank.forward;
    for (const TaskId stretch : rank.backward) {
      if (stretch != previous)
        add_limits(sums, graph_.limits(stretch));
      previous = stretch;
    }
    add_limits(sums, graph_.limits(rank.optimizer));
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

std::vector<TrainingJob::Interval> TrainingJob::last_step() const
{
  std::vector<Interval> intervals;
  const auto add = [&](int rank, std::string name, const char* stream, TaskId first, TaskId last,
                       Bytes size = {}) {
    intervals.push_back(
        {rank, std::move(name), stream, graph_.started(first), graph_.finished(last), size});
  };
  for (int rank = 0; rank < setup_.ranks; ++rank) {
    const RankTasks& tasks = ranks_[static_cast<std::size_t>(rank)];
    if (tasks.input)
      add(rank, "wait for batch", "input", tasks.input, tasks.input);
    add(rank, "forward", "compute", tasks.forward, tasks.forward);
    TaskId previous = tasks.forward;
    for (std::size_t k = 0; k < tasks.backward.size(); ++k) {
      if (tasks.backward[k] != previous)
        add(rank, fmt::format("backward {}", k), "compute", tasks.backward[k], tasks.backward[k]);
      previous = tasks.backward[k];
    }
    add(rank, "optimizer", "compute", tasks.optimizer, tasks.optimizer);
  }
  for (std::size_t b = 0; b < bucket_begin_.size(); ++b) {
    const Bytes size = setup_.buckets[b].size;
    add(-1, setup_.synchroniser->call(size, setup_.fidelity), "communication", bucket_begin_[b],
        bucket_end_[b], size);
  }
  return intervals;
}

} // namespace foretrain::models
