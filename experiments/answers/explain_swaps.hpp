// What other choices of software and storage would bring.
#pragma once

#include "experiments/run/keep/result.hpp"
#include "experiments/spec/resolved.hpp"
#include "sim/base/schema.hpp"

namespace foretrain::experiments {

/// Another choice, and what throughput would gain, relative.
struct SwapGain {
  std::string pointer; // into the experiment
  Json from;           // null: the default
  Json to;
  double gain = 0;
};

/// For each job: every other host layer, transport, framework, precision, input format, number of
/// threads that decode and storage system that fits, against the rates `base`, what brings most
/// first. What does not fit is left out, and so is what costs another job, whose choice it is.
std::vector<std::vector<SwapGain>> swapped(const Point& point, const ResolvedExperiment& experiment,
                                           const std::vector<double>& base,
                                           const RunOptions& options);

template <class V>
void describe(V& v, SwapGain& s)
{
  v.required("pointer", s.pointer, "into the experiment");
  v.required("from", s.from, "as it is; null: the default");
  v.required("to", s.to, "instead");
  v.required("gain", s.gain, "relative, of throughput");
}

} // namespace foretrain::experiments
