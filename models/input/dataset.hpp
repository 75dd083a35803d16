// A training data set: how much there is to read and what one sample costs to decode.
#pragma once

#include "sim/base/catalog.hpp"
#include "sim/base/schema.hpp"

#include <string>

namespace foretrain::models {

inline constexpr PresetKind kDatasetKind{"dataset", "models/data/datasets"};

struct Dataset {
  std::string name;
  double samples = 1;
  Bytes size;                // of all samples, encoded
  Bytes raw_sample{};        // one sample stored decoded; zero: as large as encoded
  double decode_cycles = 0;  // of one core, from encoded to plain values, per sample
  double augment_cycles = 0; // crop, flip, conversion; also needed when stored raw

  Value origin;

  Bytes encoded_sample() const { return size / samples; }
};

/// How the samples are stored.
enum class Storing { tfrecord, jpeg, raw };

/// What a stored sample of a data set is made of.
struct StoredSample {
  Bytes size;
  double cycles = 0;     // of one core, until it is ready to be copied to a GPU
  bool own_file = false; // a file of its own: opened, read and closed for each sample
};
StoredSample stored_sample(const Dataset& dataset, Storing storing);

/// Reads and checks a data set. Throws ConfigError.
Dataset load_dataset(const Value& preset);

/// Share of the reads of an epoch that a page cache answers.
///
/// epoch counts from 0. A node reads `share` of the data set in each epoch, in a new random order:
/// the same part every time when `fixed_part`, else another random part. The cache drops what was
/// used least recently. A sample that was read k epochs ago, with probability share (1 - share)^(k
/// - 1), is still there when at most a fraction c of the data set, the cache's, was read in
/// between: when (1 - share)^(k - 1) a b >= 1 - c with a, b uniform between 1 - share and 1, as the
/// epochs' parts are drawn by themselves. For the whole data set (share 1) that is c + (1 - c) ln(1
/// - c).
double hit_ratio(Bytes part_per_epoch, Bytes whole, Bytes cache, int epoch, bool fixed_part);

template <class V>
void describe(V& v, Dataset& s)
{
  v.format("foretrain.dataset/1");
  v.required("name", s.name, "name of the data set");
  v.required("samples", s.samples, "number of training samples", at_least(1));
  v.required("size", s.size, "of all samples as they are stored, encoded", positive());
  v.optional("raw_sample", s.raw_sample, "one sample stored decoded; default as large as encoded",
             non_negative());
  v.optional("decode_cycles", s.decode_cycles,
             "cycles of one core from the encoded sample to plain values", non_negative());
  v.optional("augment_cycles", s.augment_cycles, "cycles of one core for crop, flip and conversion",
             non_negative());
}

} // namespace foretrain::models
