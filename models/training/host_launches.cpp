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
  for (int round = 0; round < 2; ++round) {
    Seconds launched, end = behind;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      launched += pieces[i].host;
      waits[i] = std::max(Seconds(0), launched - end);
      end += waits[i] + pieces[i].kernels;
    }
    behind = end - launched;
  }
  return waits;
}

} // namespace foretrain::models
