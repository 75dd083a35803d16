#include "models/training/host_launches.hpp"

#include <algorithm>

namespace foretrain::models {

std::vector<Seconds> waits_for_host(std::span<const HostedPiece> pieces)
{
  std::vector<Seconds> waits(pieces.size());
  HostedPiece step;
  for (const HostedPiece& piece : pieces) {
    step.kernels += piece.kernels;
    step.host += piece.host;
  }
  if (step.host <= step.kernels)
    return waits;
  // How far the GPU is behind when the host has launched a step is the same after each step, and
  // after the first, which begins with neither behind.
  Seconds behind;
  for (const bool counts : {false, true}) {
    Seconds launched, end = behind;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      launched += pieces[i].host;
      const Seconds wait = std::max(Seconds(0), launched - end);
      end += wait + pieces[i].kernels;
      if (counts)
        waits[i] = wait;
    }
    behind = end - launched;
  }
  return waits;
}

} // namespace foretrain::models
