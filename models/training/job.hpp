// A job as the engine sees it: steps run over and over, of which some are measured.
#pragma once

#include "models/collectives/collective.hpp"
#include "sim/engine/use_window.hpp"

#include <array>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace foretrain::models {

class InputPipeline;

/// Which of the jobs that are measured together still change from step to step.
struct Settling {
  std::set<const void*> changing;
};

/// Where the time of one step went, per rank on average. Adds up to the step time.
struct StepTimes {
  Seconds compute;
  Seconds exposed_communication;
  Seconds input_stall;
  Seconds host_to_device;
  Seconds straggler_wait;
  Seconds framework;
  Seconds bubble;    // pipeline stages that wait for others
  Seconds recompute; // activations computed again
  Seconds total() const
  {
    return compute + exposed_communication + input_stall + host_to_device + straggler_wait +
           framework + bubble + recompute;
  }
};

/// Exposed communication of one kind of group, part of StepTimes::exposed_communication.
struct ExposedPart {
  std::string group; // "tensor", "pipeline" ...
  Seconds time;
};

/// When a job runs, and which of its steps are measured.
struct JobSchedule {
  std::string name;
  double samples_per_step = 1; // of all ranks
  std::uint64_t seed = 1;
  int warmup_steps = 1;
  int measured_steps = 10;
  Seconds start;
  Seconds measure_from; // steps that begin earlier are not measured: others are still to start
  std::shared_ptr<Settling> settling; // with the jobs measured beside it; null: none
  bool keep_running = false; // goes on after its measured steps until every job has measured
  bool measures_on = false;  // and measures all of these: another's step may last as long as many
  std::function<void(int step)> on_step; // after each one, those of warm-up included
};

class Job {
public:
  Job(sim::Engine& engine, JobSchedule schedule);
  virtual ~Job() = default;
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  /// Schedules the first step. `finished` is called after the last measured one.
  void launch(std::function<void()> finished);
  /// Ends after the current step.
  void stop();

  const JobSchedule& schedule() const { return schedule_; }
  const std::vector<Seconds>& step_times() const { return step_times_; } // measured ones
  StepTimes mean_times() const;
  Seconds first_measured_start() const { return measured_start_; }
  Seconds launched() const { return schedule_.start; }
  Seconds last_end() const { return last_end_; }
  bool done() const { return finished_; }
  /// Share of a resource's capacity that was used, by all jobs, while this one was measured.
  double utilisation(sim::ResourceId resource) const { return measured_.share(resource); }

  /// What limited exchanges in the measured steps.
  virtual std::vector<sim::LimitedBy> communication_limits() const = 0;
  /// What limited the kernels in the measured steps, where more than their GPU could.
  virtual std::vector<sim::LimitedBy> compute_limits() const = 0;
  /// What limited everything the job did in the measured steps; where limits are kept of all.
  virtual std::vector<sim::LimitedBy> all_limits() const = 0;
  /// Of each rank; empty with synthetic input.
  virtual const std::vector<std::unique_ptr<InputPipeline>>& input() const = 0;

  /// "all-reduce", "parameter servers" ...; empty where nothing is exchanged.
  virtual std::string exchange() const = 0;
  /// How, in a few words; empty where nothing is exchanged.
  virtual std::string exchange_summary() const = 0;
  /// Mean size of its calls.
  virtual Bytes mean_exchange() const = 0;
  /// Exposed communication by kind of group, per step; empty where there is one kind only.
  virtual std::vector<ExposedPart> exposed_by_group() const { return {}; }

  /// Spans of the last step, for timelines.
  struct Interval {
    int rank;
    std::string name;
    const char* stream; // "compute", "communication", "input", "host"
    Seconds start;
    Seconds finish;
    Bytes size{};
    int group = 0; // ranks of an exchange; 0: all of the job
  };
  virtual std::vector<Interval> last_step() const = 0;
  /// What each rank of a timeline is: "gpu 3", "gpus 4 to 7".
  virtual std::vector<std::string> shown_ranks() const = 0;

protected:
  sim::Engine& engine() const { return engine_; }
  Seconds step_start() const { return step_start_; }
  /// Of the step that runs, counted from the first that is measured; those that only fill the time
  /// until all jobs have started are -1.
  int step() const { return steps_done_ - schedule_.warmup_steps; }

private:
  virtual void before_first_step() {}
  /// Asked before each step but the first, once all jobs have started: whether steps are what
  /// they will be.
  virtual bool settled() { return true; }
  virtual void begin_measuring() = 0;
  /// One step from now on.
  virtual void run_step(std::function<void()> done) = 0;
  /// Of the step that has just ended.
  virtual StepTimes account(Seconds start, Seconds end) = 0;

  bool more_warm_up();
  void begin_step();
  void end_step();

  sim::Engine& engine_;
  JobSchedule schedule_;
  std::vector<Seconds> step_times_;
  StepTimes sums_;
  Seconds step_start_, measured_start_, last_end_;
  int steps_done_ = 0;
  sim::UseWindow measured_; // resources while steps are measured
  bool finished_ = false;
  std::function<void()> when_finished_;
};

/// The parts of a step's time, for loops over them.
inline constexpr std::array kStepParts{
    &StepTimes::compute,        &StepTimes::exposed_communication,
    &StepTimes::input_stall,    &StepTimes::host_to_device,
    &StepTimes::straggler_wait, &StepTimes::framework,
    &StepTimes::bubble,         &StepTimes::recompute};

} // namespace foretrain::models
