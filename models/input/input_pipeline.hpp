// How batches reach one GPU: read, decode, copy, each stage one batch at a time, with room for
// finished batches between the stages.
//
// In the steady state a batch takes as long as the slowest stage, or as the GPU: batches made ready
// wait in full queues, or the GPU waits before empty ones. On the way from one to the other a queue
// moves by a part of a batch in each step, over hundreds of steps; what is watched tells where to.
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

  /// Forgets what was watched, and watches from here on.
  void watch();
  /// Whether it was as fast as who asks, or slower, with queues as they were at the last fetch.
  bool steady() const { return watched_.full || watched_.starved; }
  /// What batches made ready do, one being taken every `step`: more than zero where they become
  /// more, less than zero where they become fewer, zero in the steady state.
  int trend(Seconds step) const;
  /// As after many more steps with such a trend: queues full, or empty.
  void follow(int trend);

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
  /// What happened since watch(). What the first fetch finds was made before.
  struct Watched {
    int fetches = 0;
    bool full = false;    // nothing was left to make ready when the last batch was asked for
    bool starved = false; // none was ready then
    int made = 0;         // batches, by the first stage: the slowest lets it make no more
    Seconds first_made, last_made;
  };
  void advance();
  bool full() const;
  bool may_start(std::size_t stage) const;
  void begin(std::size_t stage);
  void end(std::size_t stage, const sim::FlowRecord* record);

  sim::Engine& engine_;
  std::vector<InputStage> stages_;
  std::vector<State> states_;
  std::vector<StageUse> uses_;
  std::size_t ahead_ = 0; // the last stage that works ahead of who asks
  Watched watched_;
  std::vector<std::pair<Seconds, Seconds>> copies_; // of finished batches not yet handed out
  std::pair<Seconds, Seconds> handed_copy_;
  std::function<void()> waiting_;
  bool running_ = false;
  bool advancing_ = false;
};

} // namespace foretrain::models
