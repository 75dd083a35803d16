// Makes a model file of a recorded step: kernel times as measured, gradients with the moments at
// which they were complete. What depends on other devices is left to the simulation.
#pragma once

#include "models/network.hpp"
#include "models/traces/steps.hpp"

#include <optional>
#include <string>
#include <vector>

namespace foretrain::models {

struct RecordedOptions {
  std::string name{};            // of the model
  std::optional<int> batch{};    // samples per device, where the recording does not tell
  std::optional<Network> like{}; // its gradients, where the recording tells no sizes
  std::string gpu{};             // preset of the device; empty: none known
};

struct RecordedModel {
  Json json;                      // "foretrain.network/1"
  std::vector<std::string> notes; // what was found, what is not told, for people
};

RecordedModel recorded_model(const Trace& trace, const Steps& steps,
                             const RecordedOptions& options);

/// "fp16", "tf32", ... as the names of its products say, the longest time counting; "fp32" where
/// they say nothing, "" without products.
std::string precision_of(const Trace& trace, const TraceStep& step);

} // namespace foretrain::models
