// A data-parallel training job: the task graph of one step, run over and over.
//
// Per rank: fetch a batch, forward, backward in stretches that end where a bucket of gradients is
// complete, synchronisation of each bucket, optimizer. See docs/model.md.
#pragma once

#include "models/buckets.hpp"
#include "models/compute_profile.hpp"
#include "models/coordination.hpp"
#include "models/framework.hpp"
#include "models/input_pipeline.hpp"
#include "models/job.hpp"
#include "models/synchroniser.hpp"
#include "sim/engine/random.hpp"
#include "sim/engine/task_graph.hpp"
#include "sim/engine/token_bucket.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace foretrain::models {

/// A link behind a token bucket, and what a byte of a bucket of gradients takes of it.
struct ShapedLink {
  sim::TokenBucket* bucket;
  double units_per_byte;
};

struct JobSetup {
  std::string name;
  std::string stream = "job"; // of random numbers: a name must not change a result
  int ranks = 1;
  int batch = 1;                           // per rank
  std::vector<sim::ResourceId> compute;    // of each rank; one unit is one second of its GPU
  std::vector<sim::PathPtr> compute_paths; // what a second of kernels takes; empty: the GPU alone
  double speed_variation = 0;              // between GPUs, as in models::paces
  ComputeProfile profile;
  std::vector<Bucket> buckets;
  Framework framework;
  std::shared_ptr<Synchroniser> synchroniser; // of this job alone; null with one rank
  BytesPerSecond fusion_copy{};               // rate at which a GPU copies into the fusion buffer
  double stolen_by_communication = 0; // fraction of a GPU's multiprocessors a collective holds
  std::vector<ShapedLink> shaped;     // links that let bursts through
  Fidelity fidelity = Fidelity::coupled;
  std::uint64_t seed = 1;
  int warmup_steps = 1;
  int measured_steps = 10;
  Seconds start;
  Seconds measure_from;      // steps that begin earlier are not measured: others are still to start
  bool keep_running = false; // goes on after its measured steps until every job has measured
  bool keep_limits = false;  // of everything, to see where jobs meet
  std::vector<std::vector<InputStage>> input; // of each rank; empty: synthetic
  std::function<void(int step)> on_step;      // after each one, those of warm-up included
};

/// When the job runs and which steps are measured.
JobSchedule schedule_of(const JobSetup& setup);

class TrainingJob final : public Job {
public:
  TrainingJob(sim::Engine& engine, JobSetup setup);

  std::vector<sim::LimitedBy> communication_limits() const override;
  std::vector<sim::LimitedBy> compute_limits() const override;
  /// Needs JobSetup::keep_limits.
  std::vector<sim::LimitedBy> all_limits() const override;
  const std::vector<std::unique_ptr<InputPipeline>>& input() const override { return input_; }
  std::string exchange() const override;
  std::string exchange_summary() const override;
  Bytes mean_exchange() const override;
  std::vector<Interval> last_step() const override;
  int shown_ranks() const override { return setup_.ranks; }
  const JobSetup& setup() const { return setup_; }

private:
  struct RankTasks {
    sim::TaskId input, optimizer;
    std::vector<sim::TaskId> forward;  // cut where a layer waits for variables that are fetched
    std::vector<sim::TaskId> backward; // one per bucket stretch, plus what is left after the last
  };
  void build();
  RankTasks build_rank(int rank);
  /// The task of a rank that matches one of the first rank's: all ranks have the same.
  sim::TaskId of_rank(sim::TaskId of_first, std::size_t rank) const
  {
    return {of_first.value + static_cast<int>(rank) * tasks_per_rank_};
  }
  void build_communication();
  void build_forward(int rank, RankTasks& tasks);
  void cut_forward(const std::vector<sim::TaskId>& fetched);
  bool keeps_limits(int rank) const;
  sim::TaskId add_compute(const char* what, int rank, Seconds time);
  sim::TaskId agreement(std::size_t bucket, sim::TaskId ready);
  void before_first_step() override;
  int settling_steps() const override;
  void begin_measuring() override;
  void run_step(std::function<void()> done) override;
  StepTimes account(Seconds start, Seconds end) override;
  void hold_multiprocessors(bool hold);
  void collective_begins(Bytes size);
  void collective_ends();

  JobSetup setup_;
  sim::TaskGraph graph_;
  std::vector<Seconds> stretches_;   // of backward
  std::vector<Seconds> passes_;      // stretches of forward
  std::vector<sim::TaskId> fetched_; // what each of them waits for; empty: nothing
  RankTasks first_rank_;
  int tasks_per_rank_ = 0;
  std::vector<sim::TaskId> bucket_ready_, bucket_begin_, bucket_end_;
  std::vector<sim::TaskId> flows_;
  sim::TaskId synchronised_;
  std::vector<double> paces_;             // of each rank's GPU
  std::vector<sim::RandomStream> random_; // of each rank
  sim::RandomStream cycles_;              // of the framework's background loop
  Coordination coordination_;
  double cycle_phase_ = 0; // where in its cycle the loop is when a step begins
  int collectives_running_ = 0;
  std::vector<std::unique_ptr<InputPipeline>> input_;
};

} // namespace foretrain::models
