// Searches parallel plans for a large model's job.
#pragma once

#include "experiments/answers/parallel_words.hpp"
#include "experiments/run/keep/result_json.hpp"

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
  std::string currency{}; // of it
  std::string loses{};    // what it spends more time on than the best
};

struct TuneAnswer {
  std::string name;
  int gpus = 1;
  int tried = 0;               // simulated
  int too_large = 0;           // did not fit
  int hopeless = 0;            // could not beat the best ones: bound by compute and bubble alone
  std::vector<TunedPlan> best; // the best first
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

template <class V>
void describe(V& v, TunedPlan& s)
{
  Json parallel = parallel_json(s.plan); // but for keys at their defaults
  bool fits = true;                      // plans that do not are none
  v.required("parallel", parallel, "of a job with this plan");
  s.plan = read_from<models::ParallelPlan>(std::move(parallel), "a plan");
  v.required("micro_batch", s.micro_batch, "sequences", at_least(1));
  v.required("recompute", s.recompute, "of a job with this plan");
  v.required("tokens_per_s", s.tokens_per_s, "of the whole job");
  v.required("mfu", s.mfu, "all pairs of tokens count", non_negative());
  v.required("device_memory_byte", s.memory, "needed by the fullest stage", in_si(non_negative()));
  v.required("fits", fits, "whether the device holds what is needed");
  v.required("loses_by", s.loses, "what it spends more time on than the best");
  v.optional("recompute_layers", s.recompute_layers,
             "of each piece, where full recomputation is not of all");
  v.optional("days", s.days, "of the whole training, where the job says its length");
  v.optional("cost", s.cost, "of that");
  v.optional("currency", s.currency, "of cost");
}

template <class V>
void describe(V& v, TuneAnswer& s)
{
  v.required("job", s.name, "its name");
  v.required("gpus", s.gpus, "that it runs on", at_least(1));
  v.required("simulated", s.tried, "plans");
  v.required("do_not_fit", s.too_large, "plans");
  v.required("cannot_reach", s.hopeless, "plans that compute and bubble alone keep from the best");
  v.required("plans", s.best, "the best first");
  v.required("not_tried", s.not_tried, "what the search leaves out");
}

} // namespace foretrain::experiments
