// Checkpoints: when they are written, what they cost, and how much work a failure takes back.
#pragma once

#include "sim/base/units.hpp"

#include <cstdint>
#include <limits>
#include <vector>

namespace foretrain::models::fleet {

/// What a job does with its checkpoint now: it writes it while it works, or instead, or reads it
/// before it goes on.
enum class Transfer : std::uint8_t { none, write_beside, write_alone, read };

struct Checkpointing {
  Seconds interval{std::numeric_limits<double>::infinity()}; // of work, between two writes
  Seconds write{};                                           // of one, alone and packed
  bool asynchronous = false; // work goes on during the write; else it waits
  bool felt = false;         // it goes as fast as who meets it lets it, and slows others down
  bool in_memory = false;    // of the job's nodes: each part twice, on its node and the next one
  Seconds read{};            // of the last one by a job that goes on, alone and packed
};

/// Between two writes at least: each is simulated, and no program writes more often.
inline constexpr Seconds kShortestInterval{1};

/// The interval that loses least, to first order: tau = sqrt(2 C M).
/// Young, "A first order approximation to the optimum checkpoint interval", CACM 1974.
Seconds young_interval(Seconds write, Seconds mean_time_to_failure);

/// The same to higher order, for C < 2 M:
///   tau = sqrt(2 C M) (1 + sqrt(C / 2M) / 3 + (C / 2M) / 9) - C, else M.
/// Daly, "A higher order estimate of the optimum checkpoint interval", FGCS 2006.
Seconds daly_interval(Seconds write, Seconds mean_time_to_failure);

/// Effective share of a job's run time, of N nodes that fail r_f times in a second each:
///   (1 - N r_f (u0 + dt/2)) / (1 + w / dt)
/// Kokolis et al., "Revisiting reliability in large-scale machine learning research clusters",
/// arXiv 2410.21680.
double expected_ettr(double failures_per_second, Seconds restart, Seconds interval, Seconds write);

/// How fast work goes.
struct Pace {
  double rate = 1;
  double undisturbed = 1; // what the rate would be alone and packed
  double write = 1;       // of a write, where 1 takes as long as alone and packed
};

/// Work in seconds at rate 1, and the wall time that it took.
struct Done {
  double work = 0;
  double wall = 0;
  double slowed = 0; // of the wall time, what it would not have taken undisturbed

  Done& operator+=(const Done& more);
  Done& operator-=(const Done& less);
};

struct Progress {
  Done saved;         // that a failure does not take
  Done open;          // since
  double writing = 0; // wall time in writes that block
  double cycle = 0;   // wall time since the last write began, or ended where it blocks
  Done older;         // of the open work, what the write that runs will save
  double written = 0; // of the write that runs, in seconds of one that is alone and packed

  double work() const { return saved.work + open.work; }
};

/// Lets `wall` seconds pass.
void advance(Progress& progress, double wall, Pace pace, const Checkpointing& checkpointing);

/// Wall time until `work` seconds of work are done.
double time_to(const Progress& progress, double work, double rate,
               const Checkpointing& checkpointing);

/// Whether and how a write runs.
Transfer writing_now(const Progress& progress, const Checkpointing& checkpointing);

/// Wall time until a write begins or ends; for ever without checkpoints.
double until_turn(const Progress& progress, Pace pace, const Checkpointing& checkpointing);

/// What was done until then ends: a write begins, or is over.
void turn(Progress& progress, Transfer ended, const Checkpointing& checkpointing);

/// Takes back what is not saved; returns the wall time that is lost.
double fail(Progress& progress);

/// The same where what was saved is lost, too.
double fail_unsaved(Progress& progress);

/// Which of a job's nodes have lost the checkpoint that lay in their memory.
class MemoryCopies {
public:
  MemoryCopies() = default;
  /// Nodes of an attempt; the first one has the copy of the last one's part.
  explicit MemoryCopies(std::vector<int> nodes);
  bool on(int node) const;
  /// Whether some part of the checkpoint is on no node any more.
  bool lose(int node);

private:
  std::vector<int> nodes_;
  std::vector<bool> gone_;
};

/// Saves what there is, as preemption does.
void save(Progress& progress);

} // namespace foretrain::models::fleet
