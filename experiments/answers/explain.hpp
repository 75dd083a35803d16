// Why a point is as fast as it is, and what would make it faster.
#pragma once

#include "experiments/answers/explain_path.hpp"
#include "experiments/answers/explain_swaps.hpp"
#include "experiments/run/keep/result_json.hpp"

#include <functional>

namespace foretrain::experiments {

struct ExplainOptions {
  RunOptions run{};
  bool swaps = true; // also every choice of the stack
  /// Told after each run: done, total.
  std::function<void(int, int)> progress{};
};

/// Something that may be better, and what throughput would gain, relative.
struct LeverGain {
  std::string lever;   // its key
  std::string name;    // "network adapters"
  std::string doubled; // "network adapters twice as fast"
  double slightly = 0; // 10 % better
  double twice = 0;
};

/// Levers at once, where that saves more than one by one.
struct TogetherGain {
  std::vector<std::string> levers; // their keys
  std::string doubled;             // "PCIe twice as fast and network adapters twice as fast"
  double twice = 0;
};

/// What the job waits for.
struct WaitsFor {
  std::string resource, name, why;
};

struct ExplainedJob {
  StepPath path;
  double throughput = 0; // samples per second
  bool fits = true;
  std::optional<double> later_epochs; // samples per second once caches are warm, where that differs
  WaitsFor waits_for;
  std::optional<LeverGain> limited_by; // none: nothing that is simulated would help
  std::vector<std::string> ties;       // what would bring as much, in words
  std::vector<LeverGain> levers;       // what brings most first
  std::vector<TogetherGain> together;  // what hides most first
  std::vector<SwapGain> swaps;         // likewise
};

struct Explanation {
  std::string experiment, version;
  std::uint64_t seed = 1;
  models::Fidelity fidelity = models::Fidelity::coupled;
  std::size_t point = 0;
  std::size_t points = 1; // of the sweep
  Settings settings;
  std::vector<ExplainedJob> jobs;
  std::vector<std::string> warnings; // as a prediction tells them
};

/// The answer of docs/explain.md about one point. Every gain is that of a run of the simulation
/// with the same random numbers. Throws ConfigError for what does not fit together.
Explanation explain(const LoadedExperiment& experiment, std::size_t point,
                    const ExplainOptions& options);

template <class V>
void describe(V& v, LeverGain& s)
{
  v.required("lever", s.lever, "its key; \"pcie+nic\" of links that limit only together");
  v.required("name", s.name, "as people call it");
  v.required("doubled", s.doubled, "what twice as good means");
  v.required("gain_if_10_percent_better", s.slightly, "relative, of throughput");
  v.required("gain_if_doubled", s.twice, "relative, of throughput");
}

template <class V>
void describe(V& v, TogetherGain& s)
{
  v.required("levers", s.levers, "their keys");
  v.required("doubled", s.doubled, "what twice as good means");
  v.required("gain_if_doubled", s.twice, "of all at once: relative, of throughput");
}

template <class V>
void describe(V& v, WaitsFor& s)
{
  v.required("resource", s.resource, "by place");
  v.required("name", s.name, "as people call it, by place");
  v.required("why", s.why, "in words");
}

template <class V>
void describe(V& v, ExplainedJob& s)
{
  describe(v, s.path);
  v.required("throughput_samples_per_s", s.throughput, "median", non_negative());
  v.required("fits", s.fits, "whether the device holds what is needed");
  v.optional("later_epochs_samples_per_s", s.later_epochs,
             "once caches are warm, where that differs", non_negative());
  v.required("waits_for", s.waits_for, "what limits it as it is");
  v.required("limited_by", s.limited_by, "what brings most; null: nothing that is simulated does");
  v.optional("ties", s.ties, "what would bring as much, within a percent, in words");
  v.required("levers", s.levers, "what brings most first");
  v.optional(
      "together", s.together,
      "two or three levers at once, where they save at least a percent of the step more than "
      "one by one; what hides most first");
  v.required("swaps", s.swaps, "other choices of software and storage, what brings most first");
}

template <class V>
void describe(V& v, Explanation& s)
{
  v.required("experiment", s.experiment, "its name");
  v.required("version", s.version, "of foretrain");
  v.required("seed", s.seed, "of all random streams");
  v.required("fidelity", s.fidelity, "how collectives share links");
  v.required("point", s.point, "of the sweep, from 0");
  v.required("points", s.points, "of the sweep");
  v.required("settings", s.settings, "of the point");
  v.required("jobs", s.jobs, "of the point");
  v.optional("warnings", s.warnings, "what a prediction of the point warns of");
}

} // namespace foretrain::experiments
