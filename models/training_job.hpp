// A data-parallel training job: the task graph of one step, run over and over.
//
// Per rank: fetch a batch, forward, backward in stretches that end where a bucket of gradients is
// complete, synchronisation of each bucket, optimizer. See docs/model.md.
#pragma once

#include "models/buckets.hpp"
#include "models/compute_profile.hpp"
#include "models/framework.hpp"
#include "models/input_pipeline.hpp"
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
  int ranks = 1;
  int batch = 1;                           // per rank
  std::vector<sim::ResourceId> compute;    // of each rank; one unit is one second of its GPU
  std::vector<sim::PathPtr> compute_paths; // what a second of kernels takes; empty: the GPU alone
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

/// Where the time of one step went, per rank on average. Adds up to the step time.
struct StepTimes {
  Seconds compute;
  Seconds exposed_communication;
  Seconds input_stall;
  Seconds host_to_device;
  Seconds straggler_wait;
  Seconds framework;
  Seconds total() const
  {
    return compute + exposed_communication + input_stall + host_to_device + straggler_wait +
           framework;
  }
};

class TrainingJob {
public:
  TrainingJob(sim::Engine& engine, JobSetup setup);

  /// Schedules the first step at setup.start. `finished` is called after the last one.
  void launch(std::function<void()> finished);
  /// Ends after the current step.
  void stop() { setup_.keep_running = false; }

  const std::vector<Seconds>& step_times() const { return step_times_; } // measured ones
  StepTimes mean_times() const;
  Seconds first_measured_start() const { return measured_start_; }
  Seconds launched() const { return setup_.start; }
  Seconds last_end() const { return last_end_; }
  /// Share of a resource's capacity that was used, by all jobs, while this one was measured.
  double utilisation(sim::ResourceId resource) const;
  /// What limited the synchronisation in the measured steps.
  std::vector<sim::LimitedBy> communication_limits() const;
  /// What limited the kernels in the measured steps, where more than their GPU could.
  std::vector<sim::LimitedBy> compute_limits() const;
  /// What limited everything the job did in the measured steps; needs JobSetup::keep_limits.
  std::vector<sim::LimitedBy> all_limits() const;
  /// Of each rank; empty with synthetic input.
  const std::vector<std::unique_ptr<InputPipeline>>& input() const { return input_; }
  const JobSetup& setup() const { return setup_; }
  bool done() const { return finished_; }

  /// Spans of the last step, for timelines.
  struct Interval {
    int rank; // -1: of all ranks
    std::string name;
    const char* stream; // "compute", "communication", "input"
    Seconds start;
    Seconds finish;
    Bytes size{};
  };
  std::vector<Interval> last_step() const;

private:
  struct RankTasks {
    sim::TaskId input, forward, optimizer;
    std::vector<sim::TaskId> backward; // one per bucket stretch, plus what is left after the last
  };
  void build();
  void build_rank(int rank);
  void build_communication();
  bool keeps_limits(int rank) const;
  sim::TaskId add_compute(const char* what, int rank, Seconds time);
  sim::TaskId agreement(std::size_t bucket, sim::TaskId ready);
  bool more_warm_up();
  void begin_step();
  void end_step();
  void account(Seconds start, Seconds end);
  std::vector<double> consumed_so_far() const;
  void hold_multiprocessors(bool hold);
  void collective_begins(Bytes size);
  void collective_ends();
  Seconds until_cycle(Seconds now) const;

  sim::Engine& engine_;
  JobSetup setup_;
  sim::TaskGraph graph_;
  std::vector<Seconds> stretches_; // of backward
  std::vector<RankTasks> ranks_;
  std::vector<sim::TaskId> bucket_ready_, bucket_begin_, bucket_end_;
  std::vector<sim::TaskId> flows_;
  sim::TaskId synchronised_;
  std::vector<sim::RandomStream> random_; // of each rank
  sim::RandomStream cycles_;              // of the framework's background loop
  double cycle_phase_ = 0;                // where in its cycle the loop is when a step begins
  std::vector<Seconds> step_times_;
  StepTimes sums_;
  Seconds step_start_, measured_start_, last_end_;
  int steps_done_ = 0;
  int collectives_running_ = 0;
  std::vector<std::unique_ptr<InputPipeline>> input_;
  int settling_ = 0; // steps of warm-up still to come after all jobs have started
  std::vector<double> consumed_before_, consumed_after_; // by each resource, around the measuring
  bool finished_ = false;
  std::function<void()> when_finished_;
};

} // namespace foretrain::models
