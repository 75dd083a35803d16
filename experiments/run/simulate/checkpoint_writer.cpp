#include "experiments/run/simulate/checkpoint_writer.hpp"

#include <algorithm>
#include <limits>

namespace foretrain::experiments {

namespace {

constexpr Bytes kPiece{16 << 20};
constexpr int kFirstPieces = 2; // until the way is full
constexpr int kPieces = 20;     // that are measured

std::vector<models::InputStage> ways(const platforms::Machine& machine,
                                     const platforms::StorageSystem& storage,
                                     platforms::GpuPlace gpu)
{
  models::InputStage copy;
  copy.name = "copy";
  copy.path = machine.device_to_host(gpu);
  copy.amount = kPiece.value();
  models::InputStage write;
  write.name = "write";
  write.path = storage.write(machine, gpu.node);
  write.amount = kPiece.value();
  return {copy, write};
}

} // namespace

std::vector<platforms::GpuPlace> checkpoint_writers(const ResolvedJob& job)
{
  const bool divided = job.transformer || models::totals(job.network).divided_parameters > 0;
  return divided ? job.ranks : std::vector<platforms::GpuPlace>{job.ranks.front()};
}

CheckpointWriter::CheckpointWriter(sim::Engine& engine, const platforms::Machine& machine,
                                   const platforms::StorageSystem& storage,
                                   const std::vector<platforms::GpuPlace>& gpus)
    : engine_(engine), all_write_(engine)
{
  for (const platforms::GpuPlace& gpu : gpus)
    writers_.push_back(
        {std::make_unique<models::InputPipeline>(engine, ways(machine, storage, gpu)), 0, {}, {}});
}

void CheckpointWriter::launch(std::function<void()> measured)
{
  when_measured_ = std::move(measured);
  engine_.at(Seconds(0), [this] {
    for (std::size_t i = 0; i < writers_.size(); ++i) {
      writers_[i].pieces->start();
      write_next(i);
    }
  });
}

void CheckpointWriter::write_next(std::size_t writer)
{
  writers_[writer].pieces->fetch([this, writer] { end_piece(writer); });
}

void CheckpointWriter::end_piece(std::size_t writer)
{
  Writer& it = writers_[writer];
  ++it.written;
  if (it.written == kFirstPieces) {
    it.first = engine_.now();
    if (++begun_ == writers_.size())
      all_write_.open();
  }
  if (it.written == kFirstPieces + kPieces) {
    it.last = engine_.now();
    if (++measured_ == writers_.size()) {
      all_write_.close();
      when_measured_();
    }
  }
  if (running_)
    write_next(writer);
}

BytesPerSecond CheckpointWriter::rate() const
{
  double slowest = std::numeric_limits<double>::infinity();
  for (const Writer& it : writers_)
    slowest = std::min(slowest, kPieces * kPiece.value() / (it.last - it.first).value());
  return BytesPerSecond(slowest * static_cast<double>(writers_.size()));
}

} // namespace foretrain::experiments
