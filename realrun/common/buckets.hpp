// Gradient buckets: contiguous pieces of the flat gradient, filled from the last layer backwards as
// backward produces them, closed when they hold at least the asked-for bytes.
#pragma once

#include "realrun/common/program.hpp"

#include <cstddef>
#include <vector>

namespace foretrain::realrun {

struct Bucket {
  std::size_t offset = 0;   // first element in the flat gradient
  std::size_t count = 0;    // elements
  std::size_t ready_op = 0; // backward of this op completes the bucket
};

/// Buckets in the order in which backward completes them. `bytes` 0: one bucket per op that has
/// parameters.
std::vector<Bucket> make_buckets(const Program& program, double bytes);

} // namespace foretrain::realrun
