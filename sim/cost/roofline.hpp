// Roofline: a kernel is limited by arithmetic or by memory, never by both.
//
//   t = launch + max(work / (efficiency * peak), traffic / memory) + functions * function
//   efficiency = dense * work / (work + ramp)
//
// A single core does not hide one behind the other (in_turn): there the two times add up.
//
// Williams, Waterman, Patterson, "Roofline", CACM 2009. The ramp says that small kernels do not
// fill the device: with work = ramp they reach half of what large ones do.
#pragma once

#include "sim/base/units.hpp"

#include <algorithm>

namespace foretrain::sim {

struct Kernel {
  Flops work;
  Bytes traffic;
  double functions = 0; // evaluations of elementary functions beside the work
};

struct Roofline {
  FlopsPerSecond peak;
  double dense = 1.0;      // fraction of peak that large kernels reach
  Flops ramp;              // work at which half of that is reached
  BytesPerSecond memory{}; // what streaming kernels reach
  Seconds launch;
  bool in_turn = false;    // arithmetic and memory by turns instead of at the same time
  Seconds function{};      // one elementary function
  Bytes cache{};           // 0: none is modelled
  BytesPerSecond cached{}; // rate for what is found there

  /// Share of `footprint` bytes, used in turn, that the cache holds.
  double found(Bytes footprint) const
  {
    if (cache.value() <= 0 || cached.value() <= 0 || footprint.value() <= 0)
      return 0;
    return std::min(1.0, cache / footprint);
  }

  /// Time to move data out of `footprint` bytes that are used in turn: as much as the cache holds
  /// is found in it.
  Seconds moving(Bytes traffic, Bytes footprint) const
  {
    const double share = found(footprint);
    if (share <= 0)
      return traffic / memory;
    return share * (traffic / cached) + (1 - share) * (traffic / memory);
  }

  /// A kernel whose data take `moving`.
  Seconds operator()(Flops work, Seconds moving, double functions = 0) const
  {
    // work / (dense * peak * work / (work + ramp)) = (work + ramp) / (dense * peak)
    const Seconds arithmetic = work.value() > 0 ? (work + ramp) / (dense * peak) : Seconds(0);
    return launch + (in_turn ? arithmetic + moving : std::max(arithmetic, moving)) +
           functions * function;
  }

  Seconds operator()(const Kernel& kernel) const
  {
    return (*this)(kernel.work, moving(kernel.traffic, kernel.traffic), kernel.functions);
  }
};

} // namespace foretrain::sim
