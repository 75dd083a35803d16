// Searches parallel plans for a large model's job.
#pragma once

#include "experiments/run/keep/result.hpp"

#include <string>
#include <vector>

namespace foretrain::experiments {

struct TunedPlan {
  models::ParallelPlan plan;
  int micro_batch = 1;
  std::string recompute;
  std::optional<int> recompute_layers; // of each piece, where full recomputation is not of all
  Range tokens_per_s{};
  double mfu = 0;              // all pairs of tokens count
  Bytes memory{};              // of the fullest stage
  std::optional<Range> days{}; // and cost, where the job says how long its training is
  std::optional<Range> cost{};
  std::string loses{}; // what it spends more time on than the best
};

struct TuneAnswer {
  std::string name;
  int gpus = 1;
  int tried = 0;               // simulated
  int too_large = 0;           // did not fit
  int hopeless = 0;            // could not beat the best ones: bound by compute and bubble alone
  std::vector<TunedPlan> best; // the best first
  std::string currency;        // of costs
  std::string not_tried;       // what the search leaves out
};

/// The point of an experiment that has one. Throws UsageError where a sweep makes several.
const Point& only_point(const LoadedExperiment& experiment);

/// Plans for the GPUs, model, sequence and global batch of the experiment's job. Throws ConfigError
/// when the job is none of a transformer.
TuneAnswer tune(const Point& point, int top, const RunOptions& options);

/// The experiment with this plan, to be written into `directory`: files that it names are named
/// from there.
Json tuned_experiment(const Point& point, const TunedPlan& plan, const std::string& directory);

std::string tune_text(const TuneAnswer& answer);
Json tune_json(const TuneAnswer& answer);

} // namespace foretrain::experiments
