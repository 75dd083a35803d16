// What micro-measurements of either engine have in common: which curve, how often, one record.
#pragma once

#include "realrun/common/cli.hpp"
#include "realrun/common/record.hpp"
#include "realrun/common/recorder.hpp"

#include <functional>
#include <span>

namespace foretrain::realrun {

/// One curve that can be asked for by name.
struct Curve {
  const char* name;
  void (*measure)(const Settings& settings, Recorder& recorder);
};

/// Measures the curve that the command line names, as often as it says, and writes the record;
/// `describe` adds what the engine knows of its machine. Throws UsageError for unknown names.
void measure_curve(std::span<const Curve> curves, const CommandLine& line, const char* program_name,
                   const std::function<void(Record&)>& describe);

} // namespace foretrain::realrun
