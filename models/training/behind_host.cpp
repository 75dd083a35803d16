#include "models/training/behind_host.hpp"

#include <algorithm>

namespace foretrain::models {

namespace {

// Of a pass of a layer, or of the update.
struct Piece {
  Seconds& time; // with what of it the GPU waits
  Seconds& idle;
  Seconds host;
};

std::vector<Piece> pieces_in_order(ComputeProfile& profile)
{
  std::vector<Piece> pieces;
  pieces.reserve(2 * profile.layers.size() + 1);
  for (LayerTime& layer : profile.layers)
    pieces.push_back({layer.forward, layer.forward_idle, layer.forward_host});
  for (auto layer = profile.layers.rbegin(); layer != profile.layers.rend(); ++layer)
    pieces.push_back({layer->backward, layer->backward_idle, layer->backward_host});
  pieces.push_back({profile.optimizer, profile.optimizer_idle, profile.optimizer_host});
  return pieces;
}

} // namespace

ComputeProfile behind_host(ComputeProfile profile)
{
  if (profile.host().value() <= 0)
    return profile;
  const std::vector<Piece> pieces = pieces_in_order(profile);
  Seconds host, kernels;
  for (const Piece& piece : pieces) {
    piece.time -= piece.idle;
    piece.idle = Seconds(0);
    host += piece.host;
    kernels += piece.time;
  }
  if (host <= kernels)
    return profile;
  // How far the GPU is behind when the host has launched a step is the same after each step, and
  // after the first, which begins with neither behind.
  Seconds behind;
  for (const bool counts : {false, true}) {
    Seconds launched, end = behind;
    for (const Piece& piece : pieces) {
      launched += piece.host;
      const Seconds idle = std::max(Seconds(0), launched - end);
      end += idle + piece.time;
      if (counts) {
        piece.idle = idle;
        piece.time += idle;
      }
    }
    behind = end - launched;
  }
  return profile;
}

} // namespace foretrain::models
