// One fit: parameters of presets, measurements, and a way to predict the measurements from presets.
// What the logs of one kind teach is told as such tasks; learn() does the rest for all of them.
#pragma once

#include "calibration/least_squares.hpp"
#include "experiments/spec/profiles.hpp"

#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace foretrain::experiments {

/// A preset whose parameters may be learnt.
struct Part {
  std::string kind;
  std::string id; // as overlays call it
  Value value;    // resolved
};

/// A parameter that a log may teach.
struct Knob {
  Part part;
  std::string pointer;
  double low = 0; // SI; values outside are refused
  double high = std::numeric_limits<double>::infinity();
  std::string measurement;         // that would tell it when these logs cannot
  std::vector<std::string> tied{}; // pointers whose values keep their ratio to this one's
  double begin = 0;                // SI: where a fit of it begins; 0: at the preset's value
};

struct Observation {
  std::string where;    // "nccl.log:17"
  std::string what;     // "time of 8 MiB"
  double value = 0;     // SI, positive
  double spread = 0.05; // relative standard deviation of repeated measurements
  bool part = false;    // of another one: tells parameters apart, is not what a fit is judged by
};

struct FitTask {
  std::string source; // what was measured, on what; goes into the profile
  std::vector<Knob> knobs;
  std::vector<Observation> measurements;
  /// What the measurements would be with these values laid over the presets, in their order, SI.
  std::function<std::vector<double>(const std::shared_ptr<const Overlay>&)> predict;
  std::vector<calibration::ProfileRange> valid;
  double enough = 1e-12;   // as of a fit's options
  bool hold_back = true;   // a part of the measurements, for FitCheck: costs a fit more
  bool series = false;     // of one thing by size: a slow one alone shows no limit
  std::string objection{}; // why nothing that it teaches is kept unasked
};

/// Presets against what was learnt, on measurements that the fit did not see where those that it
/// saw teach the same parameters, else on all.
struct FitCheck {
  std::string source;
  int measurements = 0;
  bool held_back = false;
  double presets = 0; // mean relative error
  double profile = 0;
  std::string objection{}; // why it is not kept unasked; empty: it is
};

/// Why a fit with these mean errors is not to be kept; "" where it is. On what it has seen it must
/// be no worse than the presets at all, on what was held back by no more than the scatter there.
std::string objection_to(const FitCheck& check);

/// What has been learnt so far. Each task sees what the ones before it learnt.
struct Learning {
  Profiles profiles; // earlier ones, then what was learnt
  calibration::Profile learnt;
  std::vector<FitCheck> checks;
  bool judging = true; // what is no better than the presets is not kept,
  bool force = false;  // unless that is asked for

  /// Fits a task. Parameters that the measurements do not know keep the preset's value, and the
  /// others are fitted again with it, so that the profile alone gives the fitted times. What is no
  /// better than the presets, or half off, or objected to, is refused. Returns the
  /// names of what it taught ("gpu v100-sxm2-16gb /memory_efficiency").
  std::vector<std::string> learn(const FitTask& task);
  void refuse(const std::string& parameter, const std::string& reason,
              const std::string& measurement);
};

std::string name_of(const Knob& knob);

Part part_of(const Value& reference, const PresetKind& kind);

/// The value that a fit of the knob begins with: of the last overlay entry for it, of the preset's
/// file, or the default where that is silent. Throws ConfigError when there is none.
Measure value_of(const Knob& knob, const Overlay& overlay);

} // namespace foretrain::experiments
