#include "experiments/run/simulate/checkpoint_writer.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

namespace foretrain::experiments {

namespace {

constexpr Bytes kPiece{16 << 20};
constexpr int kFirstPieces = 2; // until the way is full
constexpr int kPieces = 20;     // that are measured

std::vector<models::InputStage> ways(const platforms::Machine& machine, const FromMemory& on,
                                     platforms::GpuPlace gpu)
{
  std::vector<models::InputStage> stages;
  const auto add = [&](const char* name, sim::PathPtr path) {
    if (!path)
      return;
    models::InputStage& stage = stages.emplace_back();
    stage.name = name;
    stage.path = std::move(path);
    stage.amount = kPiece.value();
  };
  add("copy", machine.device_to_host(gpu));
  add("write", on(gpu));
  return stages;
}

} // namespace

std::vector<platforms::GpuPlace> checkpoint_writers(const ResolvedJob& job)
{
  const bool divided = job.transformer || models::totals(job.network).divided_parameters > 0;
  return divided ? job.ranks : std::vector<platforms::GpuPlace>{job.ranks.front()};
}

FromMemory into_storage(const platforms::Machine& machine, const platforms::StorageSystem& storage)
{
  return [&](platforms::GpuPlace gpu) { return storage.write(machine, gpu.node); };
}

FromMemory into_memory(const platforms::Machine& machine,
                       const std::vector<platforms::GpuPlace>& ranks)
{
  std::set<int> nodes;
  for (const platforms::GpuPlace& rank : ranks)
    nodes.insert(rank.node);
  return [&machine, nodes](platforms::GpuPlace gpu) -> sim::PathPtr {
    if (nodes.size() < 2)
      return nullptr;
    const auto after = nodes.upper_bound(gpu.node);
    const int next = after == nodes.end() ? *nodes.begin() : *after;
    const sim::Hop hop = machine.host_hop(gpu.node, next, machine.nic_of(gpu.local));
    return sim::make_path(hop.uses, hop.latency, hop.cap);
  };
}

CheckpointWriter::CheckpointWriter(sim::Engine& engine, const platforms::Machine& machine,
                                   const FromMemory& on,
                                   const std::vector<platforms::GpuPlace>& gpus)
    : engine_(engine), all_write_(engine)
{
  for (const platforms::GpuPlace& gpu : gpus)
    writers_.push_back(
        {std::make_unique<models::InputPipeline>(engine, ways(machine, on, gpu)), 0, {}, {}});
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
