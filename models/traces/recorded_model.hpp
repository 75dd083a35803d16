// Makes a model file of a recorded step: kernel times as measured, gradients with the moments at
// which they were complete. What depends on other devices is left to the simulation.
#pragma once

#include "models/networks/network.hpp"
#include "models/traces/recorded_ranks.hpp"

#include <optional>
#include <string>
#include <vector>

namespace foretrain::models {

struct RecordedOptions {
  std::string name{};            // of the model
  std::optional<int> batch{};    // samples per device, where the recording does not tell
  std::optional<Network> like{}; // its gradients, where the recording tells no sizes
  std::string gpu{};             // preset of the device; empty: none known
  /// All-reduces stand for gradients, which the job's framework exchanges anew; other collectives
  /// stay as idle time. Else every exchange is simulated as it was recorded.
  bool gradients_only = false;
  bool ranks_follow = false; // the exchanges come with the recordings of all ranks (with_ranks)
};

struct RecordedModel {
  Json json;                      // "foretrain.network/1"
  std::vector<std::string> notes; // what was found, what is not told, for people
};

RecordedModel recorded_model(const Trace& trace, const Steps& steps,
                             const RecordedOptions& options);

/// The same of several ranks: the model of the first one, with the lines of all. Throws ConfigError
/// when they did not exchange the same.
RecordedModel with_ranks(RecordedModel first, const std::vector<RecordedRank>& ranks);

/// As the names of its products say, the longest time counting; nothing without
/// products, and where most names say nothing: times are then taken as of the job's precision.
std::optional<sim::Precision> precision_of(const Trace& trace, const TraceStep& step);

} // namespace foretrain::models
