// How far predicted times of collectives may be off because parameters may be.
#pragma once

#include "experiments/run/keep/result.hpp"
#include "experiments/run/simulate/nccl_tests.hpp"
#include "experiments/spec/profiles.hpp"

#include <functional>
#include <memory>
#include <vector>

namespace foretrain::experiments {

/// What calls are made on.
struct CallMachine {
  platforms::PlatformSpec platform;
  platforms::Stack stack;
  Value library;
};
/// The machine with such values laid over its presets. Throws ConfigError.
using CallMachineWith = std::function<CallMachine(const OverlayPtr& overlay)>;

struct CallRange {
  Range time;                           // s; low == high where nothing was exchanged
  std::vector<Uncertainty::Part> parts; // on the rate, the largest effect first
};

/// One for each size of the options, around the times of `rows`: every parameter with a spread that
/// exchanges go through is varied, as for experiments. The options' library is the machine's.
std::vector<CallRange> call_ranges(const NcclTest& test, const CallMachineWith& machine,
                                   const NcclTestsOptions& options,
                                   const std::vector<NcclTestsRow>& rows,
                                   const std::shared_ptr<const Profiles>& profiles,
                                   double interval);

} // namespace foretrain::experiments
