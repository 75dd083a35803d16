// A part of numbered pieces of work, for launchers that run parts on machines of their own.
#pragma once

#include <cstddef>

namespace foretrain::experiments {

/// The `index`-th of `count` parts, from 0.
struct WorkPart {
  std::size_t index = 0;
  std::size_t count = 1;

  /// Whether a piece is in it where pieces are dealt out in turn.
  bool has(std::size_t piece) const { return piece % count == index; }
};

} // namespace foretrain::experiments
