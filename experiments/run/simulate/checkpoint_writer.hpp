// GPUs that write a checkpoint, over and over, for as long as the jobs beside them are measured.
#pragma once

#include "experiments/spec/resolved.hpp"
#include "models/input/input_pipeline.hpp"
#include "platforms/storage_system.hpp"
#include "sim/engine/use_window.hpp"

#include <functional>
#include <memory>
#include <vector>

namespace foretrain::experiments {

/// The GPUs of a job that write its checkpoint: of a network that is the same on all of them the
/// first one writes all of it, else each writes its part.
std::vector<platforms::GpuPlace> checkpoint_writers(const ResolvedJob& job);

/// The way of a GPU's bytes once they are in host memory; nothing: they stay there.
using FromMemory = std::function<sim::PathPtr(platforms::GpuPlace gpu)>;
FromMemory into_storage(const platforms::Machine& machine, const platforms::StorageSystem& storage);
/// A copy on the next node of the job; one on a single node has none.
FromMemory into_memory(const platforms::Machine& machine,
                       const std::vector<platforms::GpuPlace>& ranks);

class CheckpointWriter {
public:
  /// Pieces go from a GPU into host memory and from there on. Engine and machine must outlive this.
  CheckpointWriter(sim::Engine& engine, const platforms::Machine& machine, const FromMemory& on,
                   const std::vector<platforms::GpuPlace>& gpus);
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  /// Writes from now on; `measured` is called when the rate is known.
  void launch(std::function<void()> measured);
  /// Ends after the pieces that are on their way.
  void stop() { running_ = false; }

  /// At which the whole checkpoint is written: its last part decides.
  BytesPerSecond rate() const;
  /// Share of a resource's capacity that was used, by all, while this was measured.
  double utilisation(sim::ResourceId resource) const { return all_write_.share(resource); }

private:
  struct Writer {
    std::unique_ptr<models::InputPipeline> pieces;
    int written = 0;
    Seconds first, last; // measured pieces lie between them
  };
  void write_next(std::size_t writer);
  void end_piece(std::size_t writer);

  sim::Engine& engine_;
  std::vector<Writer> writers_;
  std::size_t begun_ = 0, measured_ = 0; // writers whose measured pieces began, and ended
  sim::UseWindow all_write_;             // resources while all are measured
  std::function<void()> when_measured_;
  bool running_ = true;
};

} // namespace foretrain::experiments
