// GPUs that write a checkpoint or read it, over and over, for as long as the jobs beside them are
// measured.
#pragma once

#include "experiments/spec/resolved.hpp"
#include "models/input/input_pipeline.hpp"
#include "platforms/storage_system.hpp"
#include "sim/engine/use_window.hpp"

#include <functional>
#include <memory>
#include <vector>

namespace foretrain::experiments {

/// The GPUs of a job that write its checkpoint, and read it: of a network that is the same on all
/// of them the first one does all of it, else each does its part.
std::vector<platforms::GpuPlace> checkpoint_movers(const ResolvedJob& job);

/// The way of a GPU's bytes between host memory and where they are kept; nothing: they stay there.
using PathFrom = std::function<sim::PathPtr(platforms::GpuPlace gpu)>;
PathFrom into_storage(const platforms::Machine& machine, const platforms::StorageSystem& storage);
/// Each of them reads a file of its own in order, from the media.
PathFrom from_storage(const platforms::Machine& machine, const platforms::StorageSystem& storage,
                      const std::vector<platforms::GpuPlace>& movers);
/// A copy on the next node of the job, or read from there as though all of them had lost theirs;
/// one on a single node has none.
PathFrom between_memories(const platforms::Machine& machine,
                          const std::vector<platforms::GpuPlace>& ranks, bool reads);

class CheckpointMover {
public:
  /// Pieces go from a GPU into host memory and from there on, or back. Engine and machine must
  /// outlive this.
  CheckpointMover(sim::Engine& engine, const platforms::Machine& machine, const PathFrom& path,
                  const std::vector<platforms::GpuPlace>& gpus, bool reads);
  CheckpointMover(const CheckpointMover&) = delete;
  CheckpointMover& operator=(const CheckpointMover&) = delete;

  /// Moves from now on; `measured` is called when the rate is known.
  void launch(std::function<void()> measured);
  /// Ends after the pieces that are on their way.
  void stop() { running_ = false; }

  /// At which the whole checkpoint goes: its last part decides.
  BytesPerSecond rate() const;
  /// Share of a resource's capacity that was used, by all, while this was measured.
  double utilisation(sim::ResourceId resource) const { return all_move_.share(resource); }

private:
  struct Part {
    std::unique_ptr<models::InputPipeline> pieces;
    int moved = 0;
    Seconds first, last; // measured pieces lie between them
  };
  void move_next(std::size_t part);
  void end_piece(std::size_t part);

  sim::Engine& engine_;
  std::vector<Part> parts_;
  std::size_t begun_ = 0, measured_ = 0; // parts whose measured pieces began, and ended
  sim::UseWindow all_move_;              // resources while all are measured
  std::function<void()> when_measured_;
  bool running_ = true;
};

} // namespace foretrain::experiments
