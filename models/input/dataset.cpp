#include "models/input/dataset.hpp"

#include <algorithm>
#include <cmath>

namespace foretrain::models {

StoredSample stored_sample(const Dataset& dataset, Storing storing)
{
  if (storing == Storing::raw)
    return {dataset.raw_sample.value() > 0 ? dataset.raw_sample : dataset.encoded_sample(),
            dataset.augment_cycles, false};
  return {dataset.encoded_sample(), dataset.decode_cycles + dataset.augment_cycles,
          storing == Storing::jpeg};
}

Dataset load_dataset(const Value& preset)
{
  auto dataset = read_as<Dataset>(preset);
  dataset.origin = preset;
  return dataset;
}

double hit_ratio(Bytes part_per_epoch, Bytes whole, Bytes cache, int epoch, bool fixed_part)
{
  if (epoch <= 0 || part_per_epoch.value() <= 0)
    return 0;
  const auto recently_used = [](double fraction) {
    const double c = std::clamp(fraction, 0.0, 1.0);
    return c >= 1 ? 1.0 : c + (1 - c) * std::log1p(-c);
  };
  if (fixed_part)
    return recently_used(cache / part_per_epoch);
  // What this node has seen so far, as far as it fits, is what it can find again.
  const double share = std::min(1.0, part_per_epoch / whole);
  const double seen = 1 - std::pow(1 - share, epoch);
  if (share >= 1)
    return recently_used(cache / whole);
  return std::min(seen, cache / whole);
}

} // namespace foretrain::models
