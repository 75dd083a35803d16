// Gates: how large the errors of a suite may be, by regime, recorded beside it in gates/NAME.json.
// A run whose error is larger fails: a model that got worse is noticed.
#pragma once

#include "experiments/validate/validation.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace foretrain::experiments {

struct Gate {
  std::string regime;
  double mean = 0;    // of |error|
  double maximum = 0; // of |error|
};

struct GatesSpec {
  std::vector<Gate> gates;
};

/// gates/NAME.json beside the suite's file.
std::filesystem::path gates_path(const SuiteSpec& suite);

/// The recorded gates; none if there is no file. Throws ConfigError.
GatesSpec load_gates(const SuiteSpec& suite);

/// Today's error and a margin for small changes elsewhere: 5 % of it and half a point, at most two.
Gate gate_for(const std::string& regime, const ErrorSummary& errors);

/// Throws UsageError when the file can't be written.
void write_gates(const SuiteSpec& suite, const GatesSpec& gates);

/// "intra-node: mean error 12.1 % is above its gate of 10.0 %" for each one passed; empty: none.
std::vector<std::string> passed_gates(const Gate& gate, const ErrorSummary& errors);

template <class V>
void describe(V& v, Gate& s)
{
  v.required("regime", s.regime, "the regime", one_of(kRegimes));
  v.required("mean", s.mean, "largest mean of |error| that is let through", non_negative());
  v.required("max", s.maximum, "largest |error| of a row that is let through", non_negative());
}

template <class V>
void describe(V& v, GatesSpec& s)
{
  v.format("foretrain.gates/1");
  v.required("gates", s.gates, "one for each regime of the suite");
}

} // namespace foretrain::experiments
