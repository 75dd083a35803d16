// A folder of samples on disk. "jpeg": one file per picture (many small files, real decode), as in
// an image folder. "raw": fixed-size records in shards (few large files, no decode), as in
// TFRecords.
#pragma once

#include "realrun/common/picture.hpp"
#include "sim/base/schema.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace foretrain::realrun {

struct DatasetIndex {
  std::string encoding = "raw";
  int count = 0;
  int side = 0;
  int channels = 3;
  int classes = 10;
  int seed = 1;
  int per_shard = 256;
};

template <class V>
void describe(V& v, DatasetIndex& d)
{
  v.format("foretrain.realrun-dataset/1");
  v.required("encoding", d.encoding, "how samples are stored", one_of({"raw", "jpeg"}));
  v.required("count", d.count, "samples", between(1, 10000000));
  v.required("side", d.side, "stored height and width in pixels", between(4, 4096));
  v.required("channels", d.channels, "colours", between(1, 16));
  v.required("classes", d.classes, "classes; sample i has class i mod classes", between(2, 100000));
  v.required("seed", d.seed, "seed the pictures were made with", at_least(0));
  v.required("per_shard", d.per_shard, "raw: records per file", between(1, 1000000));
}

class Dataset {
public:
  /// Opens FOLDER/dataset.json. Throws ConfigError, or UsageError when it does not fit.
  explicit Dataset(const std::filesystem::path& folder);

  const DatasetIndex& index() const { return index_; }
  /// Reads the stored bytes of sample i (mod count); `forget` drops them from the page cache after.
  /// Throws std::runtime_error naming the file. Safe from several threads.
  std::vector<std::uint8_t> read(std::size_t i, bool forget) const;
  /// The picture in those bytes.
  Picture decode(std::size_t i, std::vector<std::uint8_t> bytes) const;

private:
  std::filesystem::path file_of(std::size_t i) const;

  std::filesystem::path folder_;
  DatasetIndex index_;
};

/// Writes a new dataset into `folder`, which may not exist yet. Throws std::runtime_error.
void write_dataset(const std::filesystem::path& folder, const DatasetIndex& index);

} // namespace foretrain::realrun
