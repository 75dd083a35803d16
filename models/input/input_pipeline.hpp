// How batches reach one GPU: read, decode, copy, each stage one batch at a time, with room for
// finished batches between the stages.
//
// In the steady state a batch takes as long as the slowest stage, or as the GPU.
#pragma once

#include "sim/engine/engine.hpp"

#include <functional>
#include <string>
#include <vector>

namespace foretrain::models {

/// What one stage does with each batch.
struct InputStage {
  const char* name = ""; // "read", "decode", "copy"
  std::string cap_name;  // what stands behind the cap of the path, for reports
  bool threads = false;  // whether more threads would lift it
  sim::PathPtr path;
  double amount = 0; // per batch, units of the path's progress; 0: nothing to do
  double priority = 1;
  int room = 1; // finished batches it may be ahead of the next stage; 0: works when asked only
};

class InputPipeline {
public:
  /// The engine must outlive this. `stages` in the order a batch passes them, at least one.
  InputPipeline(sim::Engine& engine, std::vector<InputStage> stages);

  /// Begins to fill the queues.
  void start();
  /// Asks for the next batch; `ready` is called when it is there (at once if it already is).
  void fetch(std::function<void()> ready);

  /// When the last stage worked on the batch that was handed out last.
  Seconds copy_started() const { return handed_copy_.first; }
  Seconds copy_finished() const { return handed_copy_.second; }

  struct StageUse {
    const InputStage* stage;
    Seconds busy;
    std::vector<sim::LimitedBy> limits; // what limited it, over all batches since clear()
  };
  const std::vector<StageUse>& uses() const { return uses_; }
  /// Forgets busy times and limits, to begin measuring.
  void clear();

private:
  struct State {
    bool busy = false;
    int ready = 0; // finished and not yet taken
    Seconds started;
  };
  void advance();
  bool may_start(std::size_t stage) const;
  void begin(std::size_t stage);
  void end(std::size_t stage, const sim::FlowRecord* record);

  sim::Engine& engine_;
  std::vector<InputStage> stages_;
  std::vector<State> states_;
  std::vector<StageUse> uses_;
  std::vector<std::pair<Seconds, Seconds>> copies_; // of finished batches not yet handed out
  std::pair<Seconds, Seconds> handed_copy_;
  std::function<void()> waiting_;
  bool running_ = false;
  bool advancing_ = false;
};

} // namespace foretrain::models
