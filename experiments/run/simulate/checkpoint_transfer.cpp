#include "experiments/run/simulate/checkpoint_transfer.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

namespace foretrain::experiments {

namespace {

constexpr Bytes kPiece{16 << 20};
constexpr int kFirstPieces = 2; // until the way is full
constexpr int kPieces = 20;     // that are measured

std::vector<models::InputStage> ways(const platforms::Machine& machine, const PathFrom& path,
                                     platforms::GpuPlace gpu, bool reads)
{
  std::vector<models::InputStage> stages;
  const auto add = [&](const char* name, sim::PathPtr way) {
    if (!way)
      return;
    models::InputStage& stage = stages.emplace_back();
    stage.name = name;
    stage.path = std::move(way);
    stage.amount = kPiece.value();
  };
  if (reads)
    add("read", path(gpu));
  add("copy", reads ? machine.host_to_device(gpu) : machine.device_to_host(gpu));
  if (!reads)
    add("write", path(gpu));
  return stages;
}

} // namespace

std::vector<platforms::GpuPlace> checkpoint_movers(const ResolvedJob& job)
{
  const bool divided = job.transformer || models::totals(job.network).divided_parameters > 0;
  return divided ? job.ranks : std::vector<platforms::GpuPlace>{job.ranks.front()};
}

PathFrom into_storage(const platforms::Machine& machine, const platforms::StorageSystem& storage)
{
  return [&](platforms::GpuPlace gpu) { return storage.write(machine, gpu.node); };
}

PathFrom from_storage(const platforms::Machine& machine, const platforms::StorageSystem& storage,
                      const std::vector<platforms::GpuPlace>& movers)
{
  std::map<int, double> streams; // of each node
  for (const platforms::GpuPlace& mover : movers)
    ++streams[mover.node];
  return [&, streams, all = static_cast<double>(movers.size())](platforms::GpuPlace gpu) {
    platforms::ReadPattern pattern;
    pattern.file = kPieces * kPiece;
    pattern.all_streams = storage.storage().local() ? streams.at(gpu.node) : all;
    return storage.read(machine, gpu.node, pattern).path;
  };
}

PathFrom between_memories(const platforms::Machine& machine,
                          const std::vector<platforms::GpuPlace>& ranks, bool reads)
{
  std::set<int> nodes;
  for (const platforms::GpuPlace& rank : ranks)
    nodes.insert(rank.node);
  return [&machine, nodes, reads](platforms::GpuPlace gpu) -> sim::PathPtr {
    if (nodes.size() < 2)
      return nullptr;
    const auto after = nodes.upper_bound(gpu.node);
    const int next = after == nodes.end() ? *nodes.begin() : *after;
    const int nic = machine.nic_of(gpu.local);
    const sim::Hop hop =
        reads ? machine.host_hop(next, gpu.node, nic) : machine.host_hop(gpu.node, next, nic);
    return sim::make_path(hop.uses, hop.latency, hop.cap);
  };
}

CheckpointMover::CheckpointMover(sim::Engine& engine, const platforms::Machine& machine,
                                 const PathFrom& path, const std::vector<platforms::GpuPlace>& gpus,
                                 bool reads)
    : engine_(engine), all_move_(engine)
{
  for (const platforms::GpuPlace& gpu : gpus)
    parts_.push_back(
        {std::make_unique<models::InputPipeline>(engine, ways(machine, path, gpu, reads)),
         0,
         {},
         {}});
}

void CheckpointMover::launch(std::function<void()> measured)
{
  when_measured_ = std::move(measured);
  engine_.at(Seconds(0), [this] {
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      parts_[i].pieces->start();
      move_next(i);
    }
  });
}

void CheckpointMover::move_next(std::size_t part)
{
  parts_[part].pieces->fetch([this, part] { end_piece(part); });
}

void CheckpointMover::end_piece(std::size_t part)
{
  Part& it = parts_[part];
  ++it.moved;
  if (it.moved == kFirstPieces) {
    it.first = engine_.now();
    if (++begun_ == parts_.size())
      all_move_.open();
  }
  if (it.moved == kFirstPieces + kPieces) {
    it.last = engine_.now();
    if (++measured_ == parts_.size()) {
      all_move_.close();
      when_measured_();
    }
  }
  if (running_)
    move_next(part);
}

BytesPerSecond CheckpointMover::rate() const
{
  double slowest = std::numeric_limits<double>::infinity();
  for (const Part& it : parts_)
    slowest = std::min(slowest, kPieces * kPiece.value() / (it.last - it.first).value());
  return BytesPerSecond(slowest * static_cast<double>(parts_.size()));
}

} // namespace foretrain::experiments
