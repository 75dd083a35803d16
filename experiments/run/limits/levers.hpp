// What of a machine and its software could be better, in groups that people buy or tune.
#pragma once

#include "experiments/run/keep/result.hpp"
#include "experiments/spec/resolved.hpp"
#include "sim/engine/resource.hpp"

#include <span>
#include <string>
#include <vector>

namespace foretrain::experiments {

struct Lever {
  const char* key;    // "nic"
  const char* name;   // "network adapters"
  const char* better; // "network adapters twice as fast": what doubled means
  /// Makes it `factor` times as good: rates times, times through it.
  void (*apply)(ResolvedExperiment&, double factor);
  /// The simulated resources that it is about.
  std::vector<sim::ResourceKind> resources;
};

/// All of them, those that any job may feel.
std::span<const Lever> levers();

/// The lever that a kind of resource belongs to; nullptr for none.
const Lever* lever_of(sim::ResourceKind kind);
/// By its key. Throws std::logic_error when there is none.
const Lever* lever_named(std::string_view key);

/// A resource as people call it: "PCIe uplink of plx0 of node 0".
std::string resource_words(const sim::Resource& resource);

/// Throughput of each job over at most `steps` measured steps with levers pulled. Same random
/// numbers for every call with the same options: differences are those of the levers.
std::vector<double> throughputs_with(const ResolvedExperiment& experiment,
                                     const std::vector<const Lever*>& pulled, double factor,
                                     const RunOptions& options, int steps);

} // namespace foretrain::experiments
