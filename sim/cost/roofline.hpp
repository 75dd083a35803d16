// Roofline: a kernel is limited by arithmetic or by memory, never by both.
//
//   t = launch + max(work / (dense * peak), traffic / memory) + functions * function
//
// A single core does not hide one behind the other (in_turn): there the two times add up.
//
// Williams, Waterman, Patterson, "Roofline", CACM 2009.
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
  double dense = 1.0;      // fraction of peak that kernels reach
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

  /// A kernel whose arithmetic takes `arithmetic` and whose data take `moving`.
  Seconds both(Seconds arithmetic, Seconds moving) const
  {
    return launch + (in_turn ? arithmetic + moving : std::max(arithmetic, moving));
  }

  /// A kernel whose data take `moving`.
  Seconds operator()(Flops work, Seconds moving, double functions = 0) const
  {
    return both(work / (dense * peak), moving) + functions * function;
  }

  Seconds operator()(const Kernel& kernel) const
  {
    return (*this)(kernel.work, moving(kernel.traffic, kernel.traffic), kernel.functions);
  }
};

} // namespace foretrain::sim
