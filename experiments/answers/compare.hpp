// Two systems side by side: which is faster, by how much, how sure that is, and why.
#pragma once

#include "experiments/answers/compare_settings.hpp"

#include <optional>

namespace foretrain::experiments {

struct CompareOptions {
  std::optional<double> fail_below; // of B's throughput over A's
  std::optional<double> fail_above;
  double confidence = 0.9;    // with which a bound must be broken
  double interval = 0.9;      // of the ratios
  bool settings_alone = true; // each differing setting by itself, where both sides can be run
};

/// A part of the step that B takes longer for, or saves, of as many samples.
struct DifferenceCause {
  std::string part;
  Seconds a, b, difference;
  double share = 0; // of the difference of the steps
};

enum class BoundSide { below, above };
constexpr auto choices(BoundSide)
{
  return std::to_array<Choice<BoundSide>>(
      {{BoundSide::below, "below"}, {BoundSide::above, "above"}});
}
enum class BoundState { broken, holds, undecided };
constexpr auto choices(BoundState)
{
  return std::to_array<Choice<BoundState>>({{BoundState::broken, "broken"},
                                            {BoundState::holds, "holds"},
                                            {BoundState::undecided, "undecided"}});
}

/// Of the ratio, by an option.
struct RatioBound {
  BoundSide side = BoundSide::below;
  double ratio = 1;
  double probability_broken = 0;
  BoundState state = BoundState::undecided;
};

/// What rates are counted in: samples, or tokens where both sides' samples are made of them, in
/// different numbers.
enum class CountedIn { samples, tokens };
constexpr auto choices(CountedIn)
{
  return std::to_array<Choice<CountedIn>>(
      {{CountedIn::samples, "samples"}, {CountedIn::tokens, "tokens"}});
}

struct SamplesPerStep {
  double a = 0, b = 0;
};

/// What is told of a job of one side.
struct JobOfSide {
  JobResult job;
};

/// A job of a point of A and the same of B.
struct JobComparison {
  Json settings = Json::object(); // of A's point
  std::string job;
  std::string job_b; // where its name is another
  JobOfSide a, b;
  CountedIn counted_in = CountedIn::samples;
  Range ratio; // of B's throughput over A's
  double probability_b_faster = 0;
  SamplesPerStep samples_per_step;
  std::vector<DifferenceCause> causes; // the largest first
  std::vector<RatioBound> bounds;
  std::vector<SettingDifference> differs;
  std::vector<SettingAlone> settings_alone;

  /// Rate of one of the sides, and what a step of it is of, in what both are counted in.
  double rate(const JobResult& side) const;
  double work_per_step(const JobResult& side) const;
  /// Steps of both are of as much.
  bool same_work() const;
};

struct CompareAnswer {
  SideSize a, b;
  std::string version;
  double confidence = 0.9;
  std::vector<JobComparison> pairs;
  Unmatched unmatched;
  std::vector<std::string> warnings;
  bool broken = false; // some bound
};

/// The answer of docs/compare.md. Points are matched by the settings that either side varies; one
/// point is compared with one, whatever they are. Throws UsageError when no point of A has a
/// counterpart in B.
CompareAnswer compare(const CompareSide& a, const CompareSide& b, const CompareOptions& options);

template <class V>
void describe(V& v, DifferenceCause& s)
{
  v.required("part", s.part, "of time_s");
  v.required("a_s", s.a, "of A's step", in_si());
  v.required("b_s", s.b, "of B's step, for as many samples or tokens as A's", in_si());
  v.required("difference_s", s.difference, "B less A", in_si());
  v.required("share", s.share, "of the difference of the steps");
}

template <class V>
void describe(V& v, RatioBound& s)
{
  v.required("side", s.side, "that breaks it");
  v.required("ratio", s.ratio, "of B's throughput over A's");
  v.required("probability_broken", s.probability_broken, "that the ratio is beyond it",
             between(0, 1));
  v.required("state", s.state, "with the confidence asked for");
}

template <class V>
void describe(V& v, SamplesPerStep& s)
{
  v.required("a", s.a, "of A");
  v.required("b", s.b, "of B");
}

template <class V>
void describe(V& v, JobOfSide& s)
{
  describe_rate(v, s.job);
  v.optional("tokens_per_s", s.job.tokens_per_s, "large models: of the whole job");
  v.optional("days", s.job.days, "of the whole training");
  v.optional("cost", s.job.cost, "of that");
  v.optional("currency", s.job.currency, "of cost");
  describe_memory(v, s.job);
  v.object("time_s", "parts of the mean step", [&](auto& parts) { describe_times(parts, s.job); });
  v.required("efficiency", s.job.efficiency, "speedup / GPUs");
  v.required("bottleneck", s.job.bottleneck, "what limits it");
}

template <class V>
void describe(V& v, JobComparison& s)
{
  v.required("settings", s.settings, "of the two points, as far as a sweep varies them");
  v.required("job", s.job, "its name");
  v.optional("job_b", s.job_b, "its name in B, where that is another");
  v.required("a", s.a, "of A");
  v.required("b", s.b, "of B");
  v.optional("counted_in", s.counted_in,
             "what throughputs are compared by: tokens where both sides' samples are made of them, "
             "in different numbers");
  v.required("ratio", s.ratio, "of B's throughput over A's");
  v.required("probability_b_faster", s.probability_b_faster, "by its throughput", between(0, 1));
  v.required("samples_per_step", s.samples_per_step, "of the whole job");
  v.required("causes", s.causes, "parts of the step that differ, the largest difference first");
  v.required("bounds", s.bounds, "of --fail-below and --fail-above");
  v.required("differs", s.differs, "settings that differ");
  v.optional("settings_alone", s.settings_alone,
             "what each of them does by itself, the largest effect first");
}

template <class V>
void describe(V& v, CompareAnswer& s)
{
  v.required("a", s.a, "the first side");
  v.required("b", s.b, "the second side");
  v.required("version", s.version, "of foretrain");
  v.required("confidence", s.confidence, "with which a bound must be broken", between(0, 1));
  v.required("pairs", s.pairs, "jobs that belong together");
  v.required("unmatched", s.unmatched, "points without counterpart");
  v.optional("warnings", s.warnings, "what the reader of ratios has to know");
  v.required("broken", s.broken, "whether some bound is");
}
void check_fields(const Value& at, const CompareAnswer& answer);

} // namespace foretrain::experiments
