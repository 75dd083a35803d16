#include "models/training/job.hpp"

#include <algorithm>

namespace foretrain::models {

Job::Job(sim::Engine& engine, JobSchedule schedule)
    : engine_(engine), schedule_(std::move(schedule)), measured_(engine)
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

void Job::stop()
{
  if (finished_ && schedule_.measures_on && schedule_.keep_running)
    measured_.close();
  schedule_.keep_running = false;
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
  if (more_warm_up())
    --steps_done_;
  if (steps_done_ == schedule_.warmup_steps) {
    measured_start_ = step_start_;
    measured_.open();
    begin_measuring();
  }
  run_step([this] { end_step(); });
}

void Job::end_step()
{
  const Seconds end = engine_.now();
  const bool goes_on = schedule_.measures_on && schedule_.keep_running;
  const bool measured =
      steps_done_ >= schedule_.warmup_steps &&
      (goes_on || steps_done_ < schedule_.warmup_steps + schedule_.measured_steps);
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
    if (!goes_on)
      measured_.close();
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
    mean.*part = std::max(Seconds(0), mean.*part / n); // differences may round below 0
  return mean;
}

} // namespace foretrain::models
