#include "models/training/job.hpp"

#include <algorithm>

namespace foretrain::models {

Job::Job(sim::Engine& engine, JobSchedule schedule)
    : engine_(engine), schedule_(std::move(schedule))
{
  if (!schedule_.settling)
    schedule_.settling = std::make_shared<Settling>();
}

void Job::launch(std::function<void()> finished)
{
  when_finished_ = std::move(finished);
  engine_.at(schedule_.start, [this] {
    before_first_step();
    begin_step();
  });
}

// Until all jobs have started, and until steps of none change any more.
bool Job::more_warm_up()
{
  const bool all_run = step_start_ >= schedule_.measure_from;
  if (steps_done_ > schedule_.warmup_steps)
    return false;
  if (steps_done_ == 0) // where there is no warm-up, the first steps are asked for as they are
    return schedule_.warmup_steps == 0 && !all_run;
  std::set<const void*>& changing = schedule_.settling->changing;
  if (all_run && settled())
    changing.erase(this);
  else
    changing.insert(this);
  return steps_done_ == schedule_.warmup_steps && !changing.empty();
}

void Job::begin_step()
{
  step_start_ = engine_.now();
  extra_step_ = more_warm_up();
  if (extra_step_)
    --steps_done_;
  if (steps_done_ == schedule_.warmup_steps) {
    measured_start_ = step_start_;
    consumed_before_ = consumed_so_far();
    begin_measuring();
  }
  run_step([this] { end_step(); });
}

void Job::end_step()
{
  const Seconds end = engine_.now();
  const bool measured = steps_done_ >= schedule_.warmup_steps &&
                        steps_done_ < schedule_.warmup_steps + schedule_.measured_steps;
  if (measured) {
    step_times_.push_back(end - step_start_);
    const StepTimes times = account(step_start_, end);
    for (const auto part : kStepParts)
      sums_.*part += times.*part;
    last_end_ = end;
  }
  ++steps_done_;
  if (schedule_.on_step)
    schedule_.on_step(steps_done_);
  const bool enough = steps_done_ >= schedule_.warmup_steps + schedule_.measured_steps;
  if (enough && !finished_) {
    finished_ = true;
    consumed_after_ = consumed_so_far();
    if (when_finished_)
      when_finished_();
  }
  if (!enough || schedule_.keep_running)
    begin_step();
}

StepTimes Job::mean_times() const
{
  const double n = std::max<double>(1, static_cast<double>(step_times_.size()));
  StepTimes mean = sums_;
  for (const auto part : kStepParts)
    mean.*part = mean.*part / n;
  return mean;
}

std::vector<double> Job::consumed_so_far() const
{
  std::vector<double> consumed;
  consumed.reserve(static_cast<std::size_t>(engine_.resource_count()));
  for (int r = 0; r < engine_.resource_count(); ++r)
    consumed.push_back(engine_.consumed({r}));
  return consumed;
}

double Job::utilisation(sim::ResourceId resource) const
{
  const auto r = static_cast<std::size_t>(resource.value);
  const double capacity = engine_.capacity(resource) * (last_end_ - measured_start_).value();
  if (capacity <= 0 || r >= consumed_after_.size())
    return 0;
  const double before = r < consumed_before_.size() ? consumed_before_[r] : 0;
  return std::clamp((consumed_after_[r] - before) / capacity, 0.0, 1.0);
}

} // namespace foretrain::models
