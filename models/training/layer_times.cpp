#include "models/training/layer_times.hpp"

#include "models/training/host_launches.hpp"

#include <algorithm>
#include <utility>

namespace foretrain::models {

namespace {

// Idle time between `from` and `until` of a pass over the layers, from the beginning of the first.
template <class Layer>
Seconds idle_between(Layer first, Layer last, Seconds LayerTime::*time, Seconds LayerTime::*idle,
                     Seconds from, Seconds until)
{
  Seconds sum;
  for (Seconds begin; first != last; begin += (*first).*time, ++first) {
    const Seconds length = (*first).*time;
    const Seconds within = std::min(until - begin, length) - std::max(from - begin, Seconds(0));
    if (within.value() > 0)
      sum += (*first).*idle * (within / length);
  }
  return sum;
}

// Of a pass of a layer, or of the update.
struct LayerPiece {
  Seconds& time; // with what of it the GPU waits
  Seconds& idle;
  Seconds host;
};

std::vector<LayerPiece> pieces_in_order(ComputeProfile& profile)
{
  std::vector<LayerPiece> pieces;
  pieces.reserve(2 * profile.layers.size() + 1);
  for (LayerTime& layer : profile.layers)
    pieces.push_back({layer.forward, layer.forward_idle, layer.forward_host});
  for (auto layer = profile.layers.rbegin(); layer != profile.layers.rend(); ++layer)
    pieces.push_back({layer->backward, layer->backward_idle, layer->backward_host});
  pieces.push_back({profile.optimizer, profile.optimizer_idle, profile.optimizer_host});
  return pieces;
}

} // namespace

Seconds ComputeProfile::forward() const
{
  Seconds sum;
  for (const LayerTime& layer : layers)
    sum += layer.forward;
  return sum;
}

Seconds ComputeProfile::backward() const
{
  Seconds sum;
  for (const LayerTime& layer : layers)
    sum += layer.backward;
  return sum;
}

Seconds ComputeProfile::idle() const
{
  Seconds sum = optimizer_idle;
  for (const LayerTime& layer : layers)
    sum += layer.forward_idle + layer.backward_idle;
  return sum;
}

Seconds ComputeProfile::forward_idle(Seconds from, Seconds until) const
{
  return idle_between(layers.begin(), layers.end(), &LayerTime::forward, &LayerTime::forward_idle,
                      from, until);
}

Seconds ComputeProfile::backward_idle(Seconds from, Seconds until) const
{
  return idle_between(layers.rbegin(), layers.rend(), &LayerTime::backward,
                      &LayerTime::backward_idle, from, until);
}

Seconds ComputeProfile::host() const
{
  Seconds sum = optimizer_host;
  for (const LayerTime& layer : layers)
    sum += layer.forward_host + layer.backward_host;
  return sum;
}

ComputeProfile ComputeProfile::hosted(double factor) const
{
  ComputeProfile result = *this;
  for (LayerTime& layer : result.layers) {
    layer.forward_host *= factor;
    layer.backward_host *= factor;
  }
  result.optimizer_host *= factor;
  result.behind.host *= factor;
  result.behind.launch *= factor;
  return behind_host(std::move(result));
}

ComputeProfile ComputeProfile::scaled(double factor) const
{
  ComputeProfile result = *this;
  for (LayerTime& layer : result.layers) {
    layer.forward += (factor - 1) * (layer.forward - layer.forward_idle);
    layer.backward += (factor - 1) * (layer.backward - layer.backward_idle);
  }
  result.optimizer += (factor - 1) * (optimizer - optimizer_idle);
  result.behind.passes *= factor;
  return behind_host(std::move(result));
}

Lengthening lengthening_of(const ComputeProfile& profile, double factor)
{
  const Seconds host = profile.host();
  const Seconds kernels = profile.kernels();
  if (profile.host_bound())
    return {kernels.value() > 0 ? std::min(1.0, factor * (host / kernels)) : 1.0, factor};
  return {factor, host.value() > 0 ? std::min(1.0, factor * (kernels / host)) : 1.0};
}

ComputeProfile lengthened(const ComputeProfile& profile, const Lengthening& by)
{
  ComputeProfile longer = profile.scaled(by.kernels).hosted(by.host);
  longer.behind = profile.behind;
  return longer;
}

ComputeProfile behind_host(ComputeProfile profile)
{
  if (profile.host().value() <= 0)
    return profile;
  const std::vector<LayerPiece> pieces = pieces_in_order(profile);
  std::vector<HostedPiece> hosted;
  hosted.reserve(pieces.size());
  for (const LayerPiece& piece : pieces)
    hosted.push_back({piece.time - piece.idle, piece.host});
  const std::vector<Seconds> waits = waits_for_host(hosted);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    pieces[i].idle = waits[i];
    pieces[i].time = hosted[i].kernels + waits[i];
  }
  return profile;
}

} // namespace foretrain::models
