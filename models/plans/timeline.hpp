// What one GPU of each pipeline stage does when, in a step of a large model.
#pragma once

#include "models/plans/step.hpp"

#include <string>
#include <vector>

namespace foretrain::models {

/// Streams of a GPU in the timeline.
enum class PlanStream { compute, tensor, context, expert, data };

struct PlanSpan {
  int stage = 0;
  PlanStream stream = PlanStream::compute;
  std::string name;     // of the work; of an exchange, of the work that it belongs to
  int micro_batch = -1; // none: once a step
  Operation operation = Operation::all_reduce; // of an exchange
  Seconds start, finish;
};

struct PlanTimeline {
  std::vector<PlanSpan> spans; // of each stage in order
  bool layers = true;          // a span for each layer; else one for each pass through a piece
  Seconds end;
};

/// Zero is when the step begins. Exchanges end when nothing waits for them any more: what is hidden
/// of one lies before that, beside the work that hides it. Layers are told apart where that makes
/// at most `most_spans` spans. Gradients of weights that zero-bubble puts off are not drawn.
PlanTimeline plan_timeline(const StepSetting& setting, const StepResult& step,
                           std::size_t most_spans = 200'000);

/// "tensor", "data", ...
const char* name_of(PlanStream stream);

} // namespace foretrain::models
