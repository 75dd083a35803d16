// Engine, machine, storage and jobs of one run of a resolved experiment.
#pragma once

#include "experiments/run/keep/result.hpp"
#include "experiments/run/simulate/checkpoint_transfer.hpp"
#include "experiments/run/simulate/input_folding.hpp"
#include "experiments/run/simulate/input_stages.hpp"
#include "experiments/run/simulate/plan_machine.hpp"
#include "experiments/run/simulate/plan_writer.hpp"
#include "experiments/spec/resolve.hpp"
#include "models/plans/pipeline.hpp"
#include "models/training/program_job.hpp"
#include "platforms/storage_system.hpp"
#include "sim/engine/token_bucket.hpp"

#include <memory>
#include <set>
#include <vector>

namespace foretrain::experiments {

/// Which epoch the measured steps lie in, where files and caches play a part.
enum class Epoch {
  as_given, // as each job's input says
  later,    // caches hold what they will
};

/// Jobs hold references into it: it does not move.
class Stage {
public:
  /// The experiment must outlive this.
  Stage(const ResolvedExperiment& experiment, const RunOptions& options,
        Epoch epoch = Epoch::as_given);
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  /// Runs until every job has taken its measured steps, and every writer its pieces.
  void run();

  const sim::Engine& engine() const { return engine_; }
  const platforms::Machine& machine() const { return machine_; }
  /// The machine as a job sees it: with its own stack and cores.
  const platforms::Machine& view(std::size_t i) const { return *views_[i]; }
  const models::Job& job(std::size_t i) const { return *jobs_[i]; }

  const CheckpointMover& transfer(std::size_t i) const { return *transfers_[i]; }

  /// Of a job whose model is divided into stages, where it has a program.
  const std::optional<models::PipelineSetting>& pipeline(std::size_t i) const
  {
    return pipelines_[i];
  }

  /// Resources that others on the job's nodes use, and the job does not.
  const std::set<int>& foreign(std::size_t i) const { return foreign_[i]; }

  /// Of the job's reads; zeros with synthetic input.
  const CacheHits& hits(std::size_t i) const { return hits_[i]; }

private:
  void add_view(const ResolvedExperiment& experiment, std::size_t i);
  void add_transfers(const ResolvedExperiment& experiment);
  /// A job before it is known whom it meets.
  struct Draft {
    std::shared_ptr<const models::WorkPlan> plan;
    std::unique_ptr<PlanMachine> machine;
  };
  void add_jobs(const ResolvedExperiment& experiment, const RunOptions& options, Epoch epoch);
  Draft draft(const ResolvedExperiment& experiment, std::size_t i, const RunOptions& options,
              Epoch epoch, PlanFor use);
  void find_meetings(const ResolvedExperiment& experiment, std::vector<Draft>& drafts);
  void add_job(const ResolvedExperiment& experiment, std::size_t i, const RunOptions& options,
               Draft draft);
  models::JobSchedule schedule_of(const ResolvedExperiment& experiment, std::size_t i,
                                  const RunOptions& options) const;
  /// Whether the job reads what another one reads from, too: a disk of a node or servers. A batch
  /// at a time, so that the rate of one goes up and down with the steps of the other.
  bool shares_input(const ResolvedExperiment& experiment, std::size_t i) const;
  /// Whether the job is on nodes of others, or behind uplinks that others use.
  bool near_others(const ResolvedExperiment& experiment, std::size_t i) const;
  /// Of each GPU's input; none with synthetic batches.
  GpuStages stages_of(const ResolvedExperiment& experiment, std::size_t i, Epoch epoch);

  sim::Engine engine_;
  platforms::Machine machine_;
  Tenancy tenancy_;
  std::unique_ptr<platforms::StorageSystem> storage_, checkpoint_storage_;
  std::vector<std::unique_ptr<platforms::Machine>> views_;

  std::shared_ptr<models::Settling> settling_ = std::make_shared<models::Settling>();
  std::vector<std::unique_ptr<models::Job>> jobs_;
  std::vector<bool> meets_;            // of each job: whether it uses what others use
  std::vector<std::set<int>> foreign_; // resources near each job that others use, not it
  std::vector<std::unique_ptr<CheckpointMover>> transfers_;
  std::vector<CacheHits> hits_;
  std::vector<std::unique_ptr<sim::TokenBucket>> shaped_;
  std::vector<std::optional<models::PipelineSetting>> pipelines_;
};

} // namespace foretrain::experiments
