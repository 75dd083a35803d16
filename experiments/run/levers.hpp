// What of a machine and its software could be better, in groups that people buy or tune.
#pragma once

#include "experiments/run/result.hpp"
#include "experiments/spec/resolved.hpp"

#include <span>
#include <string>
#include <vector>

namespace foretrain::sim {
class Engine;
}

namespace foretrain::experiments {

struct Lever {
  const char* key;    // "nic"
  const char* name;   // "network adapters"
  const char* better; // "network adapters twice as fast": what doubled means
  /// Makes it `factor` times as good: rates times, times through it.
  void (*apply)(ResolvedExperiment&, double factor);
  /// Parts of the names of the simulated resources that it is about.
  std::vector<std::string> resources;
};

/// All of them, those that any job may feel.
std::span<const Lever> levers();

/// The lever that a simulated resource belongs to; nullptr for none.
const Lever* lever_of(const std::string& resource);

/// A resource as people call it: "PCIe link of plx0 in node 0, towards the CPU".
std::string resource_words(const std::string& resource);

/// Throughput of each job over at most `steps` measured steps with levers pulled. Same random
/// numbers for every call with the same options: differences are those of the levers.
std::vector<double> throughputs_with(const ResolvedExperiment& experiment,
                                     const std::vector<const Lever*>& pulled, double factor,
                                     const RunOptions& options, int steps);

} // namespace foretrain::experiments
