// Sizes of the gradients of a recorded step, from whatever tells them.
#pragma once

#include "models/networks/network.hpp"
#include "models/traces/recorded_step.hpp"

#include <optional>
#include <string>

namespace foretrain::models {

/// Fills RecordedStep::backward's gradients. Returns what told the sizes ("recorded shapes",
/// "kernels that add them", "copies out of buckets", the name of `like`); "" when nothing does.
std::string size_gradients(const Trace& trace, const TraceStep& step, RecordedStep& recorded,
                           const std::optional<Network>& like);

} // namespace foretrain::models
