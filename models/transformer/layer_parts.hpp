// What a layer consists of: models of several kinds of layers name one of these for each.
#pragma once

#include <vector>

namespace foretrain::models {

/// How tokens meet one another.
enum class Mixer { none, attention, mamba, delta };
/// What each token goes through by itself.
enum class FeedForward { none, dense, experts };

/// Each with a norm before it and a sum behind it.
struct LayerParts {
  Mixer mixer = Mixer::attention;
  FeedForward feed = FeedForward::dense;
  // How a job treats it otherwise than its other layers.
  bool wide = false; // its products take 16 bits where those of others take fewer
  bool kept = false; // it is not repeated where others are
  bool away = false; // what it keeps for the backward pass is in host memory
  friend bool operator==(const LayerParts&, const LayerParts&) = default;
  bool has_experts() const { return feed == FeedForward::experts; }
};

/// Attention and a feed-forward part, or experts in its place.
inline constexpr LayerParts kDenseLayer;
inline constexpr LayerParts kExpertLayer{Mixer::attention, FeedForward::experts};

/// Layers that are alike.
struct LayerRun {
  LayerParts parts;
  int count = 0;
};
using LayerRuns = std::vector<LayerRun>;

/// How many of them have these parts.
inline int count_of(const LayerRuns& runs, const LayerParts& parts)
{
  int count = 0;
  for (const LayerRun& run : runs)
    count += run.parts == parts ? run.count : 0;
  return count;
}

/// Kinds keep the order in which they came first.
inline void add(LayerRuns& runs, const LayerParts& parts, int count)
{
  if (count == 0)
    return;
  for (LayerRun& run : runs)
    if (run.parts == parts) {
      run.count += count;
      return;
    }
  runs.push_back({parts, count});
}

/// As people call it.
inline const char* name_of(const LayerParts& parts)
{
  switch (parts.mixer) {
  case Mixer::attention:
    return parts.has_experts()                ? "layer with experts"
           : parts.feed == FeedForward::dense ? "layer"
                                              : "attention";
  case Mixer::mamba:
    return parts.has_experts()                ? "Mamba layer with experts"
           : parts.feed == FeedForward::dense ? "Mamba layer with feed-forward"
                                              : "Mamba layer";
  case Mixer::delta:
    return parts.has_experts()                ? "linear layer with experts"
           : parts.feed == FeedForward::dense ? "linear layer"
                                              : "linear attention";
  case Mixer::none:
    break;
  }
  return parts.has_experts() ? "experts" : "feed-forward";
}

} // namespace foretrain::models
