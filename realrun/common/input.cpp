#include "realrun/common/input.hpp"

#include "realrun/common/clock.hpp"
#include "sim/base/error.hpp"

#include <algorithm>

namespace foretrain::realrun {

namespace {

/// Index of sample `j` in batch `step` of `rank`.
std::size_t sample_index(const InputShape& shape, std::size_t step, int rank, int world,
                         std::size_t j)
{
  return (step * static_cast<std::size_t>(world) + static_cast<std::size_t>(rank)) *
             static_cast<std::size_t>(shape.batch) +
         j;
}

class SyntheticInput final : public Input {
public:
  SyntheticInput(const Settings& settings, const InputShape& shape, Slots slots)
      : slots_(std::move(slots)), labels_(slots_.size())
  {
    for (std::size_t i = 0; i < slots_.size(); ++i)
      fill_batch(shape, settings.seed, i, settings.rank, settings.world, slots_[i], labels_[i]);
  }

  Batch next() override
  {
    const std::size_t slot = served_++ % slots_.size();
    Batch batch;
    batch.pixels = slots_[slot];
    batch.labels = labels_[slot].data();
    return batch;
  }
  void release() override {}

private:
  Slots slots_;
  std::vector<std::vector<int>> labels_;
  std::size_t served_ = 0;
};

class FileInput final : public Input {
public:
  FileInput(const Settings& settings, const InputShape& shape, Slots slots)
      : dataset_(settings.data), shape_(shape), rank_(settings.rank), world_(settings.world),
        forget_(settings.cold == "on")
  {
    const DatasetIndex& index = dataset_.index();
    if (index.encoding != settings.input)
      throw UsageError("'" + settings.data + "' holds " + index.encoding + " samples, not " +
                       settings.input + " ones");
    if (index.channels != shape.channels || index.classes != shape.classes ||
        index.side % shape.image != 0)
      throw UsageError("'" + settings.data + "' holds " + std::to_string(index.side) + " px, " +
                       std::to_string(index.channels) + " channels, " +
                       std::to_string(index.classes) + " classes; the model needs a multiple of " +
                       std::to_string(shape.image) + " px, " + std::to_string(shape.channels) +
                       " channels, " + std::to_string(shape.classes) + " classes");
    for (float* memory : slots)
      slots_.push_back({memory, std::vector<int>(static_cast<std::size_t>(shape.batch))});
    for (int i = 0; i < settings.decode_threads; ++i)
      threads_.emplace_back([this] { work(); });
  }

  ~FileInput() override
  {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    for (auto& thread : threads_)
      thread.join();
  }

  Batch next() override
  {
    const double start = now_s();
    std::unique_lock lock(mutex_);
    Slot& slot = slots_[served_ % slots_.size()];
    changed_.wait(lock,
                  [&] { return error_ || slot.done == static_cast<std::size_t>(shape_.batch); });
    if (error_)
      std::rethrow_exception(error_);
    ++served_;
    return {slot.pixels, slot.labels.data(), now_s() - start,
            slot.read_s, slot.decode_s,      slot.bytes};
  }

  void release() override
  {
    {
      const std::lock_guard lock(mutex_);
      Slot& slot = slots_[released_ % slots_.size()];
      slot = {slot.pixels, std::move(slot.labels)};
      ++released_;
    }
    changed_.notify_all();
  }

private:
  struct Slot {
    float* pixels = nullptr;
    std::vector<int> labels;
    std::size_t done = 0;
    double read_s = 0.0, decode_s = 0.0, bytes = 0.0;
  };

  void work()
  {
    try {
      for (;;) {
        std::unique_lock lock(mutex_);
        const auto batch = static_cast<std::size_t>(shape_.batch);
        changed_.wait(lock,
                      [&] { return stopping_ || claimed_ / batch < released_ + slots_.size(); });
        if (stopping_)
          return;
        const std::size_t sample = claimed_++;
        lock.unlock();
        load(sample / batch, sample % batch);
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      error_ = std::current_exception();
      stopping_ = true;
    }
    changed_.notify_all();
  }

  void load(std::size_t step, std::size_t j)
  {
    Slot& slot = slots_[step % slots_.size()];
    const std::size_t index = sample_index(shape_, step, rank_, world_, j);
    const double start = now_s();
    std::vector<std::uint8_t> bytes = dataset_.read(index, forget_);
    const double read = now_s();
    const auto size = static_cast<double>(bytes.size());
    const Picture picture = dataset_.decode(index, std::move(bytes));
    shrink_to_floats(picture, shape_.image, slot.pixels + j * shape_.sample_size());
    const double decoded = now_s();
    {
      const std::lock_guard lock(mutex_);
      slot.labels[j] =
          class_of(index % static_cast<std::size_t>(dataset_.index().count), shape_.classes);
      slot.read_s += read - start;
      slot.decode_s += decoded - read;
      slot.bytes += size;
      ++slot.done;
    }
    changed_.notify_all();
  }

  Dataset dataset_;
  InputShape shape_;
  int rank_, world_;
  bool forget_;
  std::vector<Slot> slots_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::exception_ptr error_;
  bool stopping_ = false;
  std::size_t claimed_ = 0;          // samples handed to threads
  std::size_t served_ = 0;           // batches handed to the training loop
  std::size_t released_ = 0;         // batches given back
  std::vector<std::thread> threads_; // last: they use all of the above
};

} // namespace

std::size_t slots_needed(const Settings& settings)
{
  return static_cast<std::size_t>(settings.prefetch) + 1;
}

void fill_batch(const InputShape& shape, int seed, std::size_t step, int rank, int world,
                float* pixels, std::vector<int>& labels)
{
  labels.resize(static_cast<std::size_t>(shape.batch));
  for (std::size_t j = 0; j < labels.size(); ++j) {
    const std::size_t index = sample_index(shape, step, rank, world, j);
    labels[j] = class_of(index, shape.classes);
    shrink_to_floats(make_picture(index, shape.classes, shape.image, shape.channels, seed),
                     shape.image, pixels + j * shape.sample_size());
  }
}

std::unique_ptr<Input> make_input(const Settings& settings, const InputShape& shape, Slots slots)
{
  if (settings.input == "synthetic")
    return std::make_unique<SyntheticInput>(settings, shape, std::move(slots));
  if (settings.data.empty())
    throw UsageError("--input " + settings.input + " needs --data FOLDER (see make-data)");
  return std::make_unique<FileInput>(settings, shape, std::move(slots));
}

} // namespace foretrain::realrun
