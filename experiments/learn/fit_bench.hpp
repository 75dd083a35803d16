// A fit under way: what the measurements would be with knobs turned.
#pragma once

#include "experiments/learn/fit_task.hpp"

#include <memory>
#include <string>
#include <vector>

namespace foretrain::experiments {

/// A value laid over a preset, while it is fitted.
struct Laid {
  std::string pointer;
  Measure value;
};

/// For each knob of a task those of its values that matter, laid over the presets.
class FitBench {
public:
  /// Keeps a reference to the task. `base`: what is laid over the presets already.
  FitBench(const FitTask& task, const Overlay& base);

  /// Whether any prediction changes when the knob is turned up or down.
  bool matters(std::size_t knob) const;
  /// The knob's value in the presets and what was learnt before, SI.
  double start(std::size_t knob) const { return values_[knob].front().value.si(); }
  /// What the knob at `si` lays over its preset.
  std::vector<Laid> laid(std::size_t knob, double si) const;
  /// The task's predictions with these knobs at these values, SI.
  std::vector<double> predict(const std::vector<std::size_t>& knobs,
                              const std::vector<double>& si) const;

private:
  bool changes(const Part& part, std::vector<Laid> values, double factor) const;

  const FitTask& task_;
  Overlay base_;
  std::vector<double> here_;              // predictions at the start
  std::vector<std::vector<Laid>> values_; // at the start
};

} // namespace foretrain::experiments
