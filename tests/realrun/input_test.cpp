#include "realrun/common/input.hpp"
#include "sim/base/error.hpp"

#include <catch2/catch.hpp>

#include <unistd.h>

#include <cmath>
#include <fstream>

using namespace foretrain;
using namespace foretrain::realrun;

namespace {

struct Folder {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("realrun_input_test." + std::to_string(::getpid()));
  ~Folder() { std::filesystem::remove_all(path); }
};

const InputShape kShape{6, 8, 3, 4};

Settings settings_for(const Folder& folder, const std::string& encoding)
{
  Settings settings;
  settings.rank = 0;
  settings.world = 1;
  settings.input = encoding;
  settings.data = folder.path.string();
  settings.decode_threads = 3;
  return settings;
}

DatasetIndex index_of(const std::string& encoding)
{
  DatasetIndex index;
  index.encoding = encoding;
  index.count = 20;
  index.side = 16;
  index.classes = 4;
  index.per_shard = 7;
  return index;
}

struct Memory {
  std::vector<std::vector<float>> batches;
  Slots slots;
  explicit Memory(std::size_t count) : batches(count, std::vector<float>(kShape.batch_size()))
  {
    for (auto& batch : batches)
      slots.push_back(batch.data());
  }
};

} // namespace

TEST_CASE("a file input serves every sample once and in order, as it was written")
{
  const std::string encoding = GENERATE("raw", "jpeg");
  if (encoding == "jpeg" && !jpeg_available()) {
    WARN("skipped: this build has no JPEG support");
    return;
  }
  // Root mean square; JPEG loses detail, another picture of this kind would differ by about 0.6.
  const float tolerance = encoding == "raw" ? 1e-6F : 0.2F;
  const Folder folder;
  write_dataset(folder.path, index_of(encoding));
  const Settings settings = settings_for(folder, encoding);
  Memory memory(slots_needed(settings));
  const auto input = make_input(settings, kShape, memory.slots);
  for (std::size_t step = 0; step < 7; ++step) { // 42 samples: goes around the 20 twice
    const Batch batch = input->next();
    CHECK(batch.bytes > 0);
    for (std::size_t j = 0; j < 6; ++j) {
      const std::size_t index = (step * 6 + j) % 20;
      CHECK(batch.labels[j] == class_of(index, 4));
      std::vector<float> expected(kShape.sample_size());
      shrink_to_floats(make_picture(index, 4, 16, 3, 1), 8, expected.data());
      float squares = 0.0F;
      for (std::size_t i = 0; i < expected.size(); ++i)
        squares += std::pow(expected[i] - batch.pixels[j * kShape.sample_size() + i], 2.0F);
      CHECK(std::sqrt(squares / static_cast<float>(expected.size())) <= tolerance);
    }
    input->release();
  }
}

TEST_CASE("a dataset that does not fit or is damaged is refused by name")
{
  const Folder folder;
  write_dataset(folder.path, index_of("raw"));
  Settings settings = settings_for(folder, "jpeg");
  Memory memory(3);
  CHECK_THROWS_WITH(make_input(settings, kShape, memory.slots), Catch::Contains("raw samples"));
  settings.input = "raw";
  CHECK_THROWS_WITH(make_input(settings, {6, 5, 3, 4}, memory.slots), Catch::Contains("16 px"));
  std::filesystem::resize_file(folder.path / "shard0.raw", 100);
  const auto input = make_input(settings, kShape, memory.slots);
  CHECK_THROWS_WITH(input->next(), Catch::Contains("shard0.raw") && Catch::Contains("shorter"));
  settings.data = "/nonexistent";
  CHECK_THROWS_AS(make_input(settings, kShape, memory.slots), ConfigError);
}

TEST_CASE("a file that is no JPEG is named, not crashed on")
{
  if (!jpeg_available()) {
    WARN("skipped: this build has no JPEG support");
    return;
  }
  CHECK_THROWS_WITH(decode_jpeg({1, 2, 3, 4, 5, 6}, "x.jpg"), Catch::Contains("x.jpg"));
  auto bytes = encode_jpeg(make_picture(0, 4, 16, 3, 1), 90);
  bytes.resize(bytes.size() - 40); // the header is whole, the picture is not
  CHECK_THROWS_WITH(decode_jpeg(bytes, "cut.jpg"), Catch::Contains("cut.jpg"));
}

TEST_CASE("the ranks of a step together hold one contiguous batch")
{
  const InputShape whole{8, 8, 3, 4};
  const InputShape half{4, 8, 3, 4};
  std::vector<float> all(whole.batch_size());
  std::vector<int> labels;
  fill_batch(whole, 1, 2, 0, 1, all.data(), labels);
  for (int rank = 0; rank < 2; ++rank) {
    std::vector<float> part(half.batch_size());
    std::vector<int> some;
    fill_batch(half, 1, 2, rank, 2, part.data(), some);
    const auto offset = static_cast<std::ptrdiff_t>(half.batch_size()) * rank;
    CHECK(std::equal(part.begin(), part.end(), all.begin() + offset));
    CHECK(std::equal(some.begin(), some.end(), labels.begin() + 4 * rank));
  }
}
