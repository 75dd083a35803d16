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

namespace {

// P(a b >= t) of two numbers that are uniform between 1 - share and 1: what is not read of a
// sample's companions in the rest of its epoch and in the beginning of that in which it is read
// again.
double product_above(double t, double share)
{
  const double least = 1 - share;
  if (t >= 1)
    return 0;
  if (t <= least * least)
    return 1;
  const double from = std::max(least, t);       // below, no b is large enough
  const double full = std::min(1.0, t / least); // above, every b is
  const double area = full - from - t * std::log(full / from) + (1 - full) * share;
  return area / (share * share);
}

} // namespace

double hit_ratio(Bytes part_per_epoch, Bytes whole, Bytes cache, int epoch, bool fixed_part)
{
  if (epoch <= 0 || part_per_epoch.value() <= 0)
    return 0;
  const double share = fixed_part ? 1 : std::min(1.0, part_per_epoch / whole);
  const double dropped = std::max(0.0, 1 - cache / (fixed_part ? part_per_epoch : whole));
  double hits = 0, skipped = 1; // by this node in all epochs between
  for (int back = 1; back <= epoch && skipped > dropped; ++back, skipped *= 1 - share)
    hits += share * skipped * product_above(dropped / skipped, share);
  return hits;
}

} // namespace foretrain::models
