// What of a machine and its software could be better, in groups that people buy or tune.
#pragma once

#include "experiments/spec/resolved.hpp"
#include "sim/engine/resource.hpp"

#include <span>
#include <string_view>
#include <vector>

namespace foretrain::experiments {

struct Lever : LeverText {
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

/// Makes better what the experiment's `better` says, and tells so.
void make_better(ResolvedExperiment& experiment);

} // namespace foretrain::experiments
