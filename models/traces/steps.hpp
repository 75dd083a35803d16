// The training steps of a trace: where they begin, and what the device did in each.
#pragma once

#include "models/traces/trace.hpp"

#include <vector>

namespace foretrain::models {

/// A stretch of time.
struct Span {
  double start, finish;
};

enum class TrainingPhase { forward, backward, optimizer };

struct StepWork {
  std::size_t index;   // into Trace::work
  TrainingPhase phase; // of the call that launched it
  double launched;     // host time of its launch; its own start where that is unknown
};

/// A gradient that became complete: when everything launched before has run.
struct RecordedGradient {
  double elements = 0; // 0: not told
  double begun = 0;    // host time of its accumulation
  double launched = 0; // host time of its end
};

struct TraceStep {
  std::string name;
  double host_start = 0, host_finish = 0;
  double start = 0;           // first device work launched in it
  double finish = 0;          // start of the next step's first device work, or its own end
  bool followed = false;      // by another step, which gives its length exactly
  std::vector<StepWork> work; // by start
  std::vector<RecordedGradient> gradients; // in the order in which they became complete
  double period() const { return finish - start; }
};

/// From a step's beginning to its end: by the device where another step follows, else as the host's
/// annotation has it, which holds what the host did before the first kernel.
Span window_of(const TraceStep& step);

struct Steps {
  std::vector<TraceStep> list;
  std::string found_by; // "ProfilerStep annotations", ...
  /// The one whose period is the median of those that are followed; index into list.
  std::size_t typical = 0;
  /// Coefficient of variation of the periods; 0 when there are fewer than three.
  double variation = 0;
};

/// Places of the steps whose length is known: another one follows them. The first of more than two
/// holds what the profiler needs to start, and is left out.
std::vector<std::size_t> whole_steps(const std::vector<TraceStep>& steps);

/// Of the device that did most, where a trace holds several. Never empty where the trace has device
/// work; throws ConfigError when it has none.
Steps find_steps(const Trace& trace);

/// The stream on which a device's kernels took the longest: its order is that of the steps, others
/// may run ahead. -1 where the device ran none.
int main_stream(const Trace& trace, int device);

/// In order and without overlap.
std::vector<Span> merged(std::vector<Span> spans);
double length(const std::vector<Span>& spans);
/// Total time in which both run.
double common(const std::vector<Span>& a, const std::vector<Span>& b);

} // namespace foretrain::models
