// When another choice of the library is worth a remark.
#pragma once

#include <cstddef>

namespace foretrain::experiments {

inline constexpr double kWaits = 0.1;         // of a step for exchanges, at least
inline constexpr double kClearlyFaster = 0.1; // of throughput, at least
inline constexpr std::size_t kMostRanks = 512;

} // namespace foretrain::experiments
