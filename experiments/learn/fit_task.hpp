// One fit: parameters of presets, measurements, and a way to predict the measurements from presets.
// What the logs of one kind teach is told as such tasks (learning.hpp).
#pragma once

#include "calibration/profile.hpp"
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
  bool largest = false; // of a series: what it teaches of rates is judged by this one
};

struct FitTask {
  std::string source; // what was measured, on what; goes into the profile
  std::vector<Knob> knobs;
  std::vector<Observation> measurements;
  /// What the measurements would be with these values laid over the presets, in their order, SI.
  std::function<std::vector<double>(const OverlayPtr&)> predict;
  std::vector<calibration::ProfileRange> valid;
  double enough = 1e-12;   // as of a fit's options
  bool hold_back = true;   // a part of the measurements, for FitCheck: costs a fit more
  bool series = false;     // of one thing by size: a slow one alone shows no limit
  std::string objection{}; // why nothing that it teaches is kept unasked
};

std::string name_of(const Knob& knob);

Part part_of(const Value& reference, const PresetKind& kind);

/// The value that a fit of the knob begins with: of the last overlay entry for it, of the preset's
/// file, or the default where that is silent. Throws ConfigError when there is none.
Measure value_of(const Knob& knob, const Overlay& overlay);

} // namespace foretrain::experiments
