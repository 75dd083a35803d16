// What `foretrain validate` found, as JSON (docs/validate.md); reports are made from it.
#pragma once

#include "experiments/validate/validation_gates.hpp"

namespace foretrain::experiments {

struct Verdict {
  Json result;
  std::vector<std::string> passed; // gates, "SUITE: REGIME: ..."
  std::vector<GatesSpec> gates;    // of today's errors, by suite
};

/// A comparison as JSON, in its measurement's unit.
Json to_json(const SuitePlan& plan, const Comparison& comparison);

/// Sums up by suite and regime, rows of the largest error first. Gates hold for suites as they
/// are: `changed` leaves them out.
Verdict judge(const SuitePlan& plan, const std::vector<Comparison>& comparisons,
              const RunOptions& options, bool changed);

} // namespace foretrain::experiments
