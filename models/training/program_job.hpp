// A job that runs a work program, step after step.
#pragma once

#include "models/input/input_pipeline.hpp"
#include "models/training/job.hpp"
#include "models/training/step_draws.hpp"
#include "models/training/work_plan.hpp"
#include "sim/workload/accountant.hpp"
#include "sim/workload/executor.hpp"

#include <optional>

namespace foretrain::models {

/// The machine that a program runs on, and what can be said of its exchanges.
class JobMachine : public sim::WorkMachine {
public:
  /// What the ranks exchange by: "all-reduce", "parameter servers" ...; empty: nothing.
  virtual std::string exchange() const = 0;
  /// Algorithm, protocol and channels of the exchanges that move the most, in a few words.
  virtual std::string exchange_summary(const sim::Program& program) const = 0;
  /// Of each rank with input.
  virtual const std::vector<std::unique_ptr<InputPipeline>>& input() const = 0;
  /// Name of a kernel for timelines, "ncclDevKernel_AllGather_RING_Simple".
  virtual std::string call(const sim::Operation& op) const = 0;
  /// What each operation takes on a GPU of average speed, where nothing can be in the way of any.
  virtual std::optional<std::vector<Seconds>> undisturbed() = 0;
};

struct ProgramSetup {
  std::string stream = "job"; // of random numbers: a name must not change a result
  double speed_variation = 0; // between GPUs, as in models::paces
  bool in_step = true;        // GPUs wait for each other; else each goes on by itself, as one alone
  bool keep_limits = false;   // of kernels, also where a GPU limits them by itself
};

/// Steps of a program whose operations all take what they take alone are evaluated, others are
/// simulated.
class ProgramJob final : public Job {
public:
  ProgramJob(sim::Engine& engine, JobSchedule schedule, std::shared_ptr<const WorkPlan> plan,
             std::unique_ptr<JobMachine> machine, const ProgramSetup& setup);

  const WorkPlan& plan() const { return *plan_; }
  std::vector<sim::LimitedBy> communication_limits() const override;
  std::vector<sim::LimitedBy> compute_limits() const override;
  std::vector<sim::LimitedBy> all_limits() const override;
  const std::vector<std::unique_ptr<InputPipeline>>& input() const override;
  std::string exchange() const override;
  std::string exchange_summary() const override;
  Bytes mean_exchange() const override;
  std::vector<ExposedPart> exposed_by_group() const override;
  std::vector<Interval> last_step() const override;
  std::vector<std::string> shown_ranks() const override;

private:
  using KeptTasks = std::vector<std::pair<sim::TaskId, int>>; // each of so many devices

  std::vector<sim::LimitedBy> limits_of(const KeptTasks& tasks) const;
  void before_first_step() override;
  bool settled() override;
  void begin_measuring() override;
  void run_step(std::function<void()> done) override;
  StepTimes account(Seconds start, Seconds end) override;
  Seconds copies(Seconds start) const;
  void draw();
  void evaluate(std::function<void()> done);

  std::shared_ptr<const WorkPlan> plan_;
  std::unique_ptr<JobMachine> machine_;
  sim::WorkOrder order_;
  sim::StepDates dates_;                    // of the last step
  std::unique_ptr<sim::Executor> executor_; // none where steps are evaluated
  std::vector<Seconds> undisturbed_;        // of each operation, where steps are evaluated
  std::vector<sim::PathPtr> devices_;       // of each rank, to which evaluated kernels are charged
  bool in_step_;                            // devices draw apart, and wait for each other
  StepDraws draws_;                         // of each device, those of a rank in a row
  std::vector<double> slowest_;             // of each rank's devices in the step
  std::vector<double> mean_speed_;          // mean of each rank's devices over the slowest
  KeptTasks kernels_, copies_;              // whose limits are kept
  sim::StepShares sums_;                    // over the measured steps
  int accounted_ = 0;

  int watched_steps_ = 0; // since input was last watched from anew
  int followed_ = 0;      // times that input was brought to where it tends
  Seconds watched_from_;
  bool settled_ = false; // when last known
};

} // namespace foretrain::models
