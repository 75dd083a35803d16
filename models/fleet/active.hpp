// A job that came and did not end yet: how far it is, and what it does next.
#pragma once

#include "models/fleet/checkpoint.hpp"
#include "models/fleet/job.hpp"
#include "models/fleet/speeds.hpp"

#include <vector>

namespace foretrain::models::fleet {

/// What ends the time in which a job goes on as it does.
enum class Turn {
  finished,
  data_read, // the first pass over its data is over
  transfer,  // a write or a read begins or ends, whose time is simulated
};

struct NextTurn {
  Turn what;
  Seconds time;
};

struct Active {
  Progress progress;
  JobRate rate;
  Transfer transfer = Transfer::none;
  bool first_pass = false; // over its data
  double unread = 0;       // of that pass, in work
  double to_restore = 0;   // of its checkpoint, in seconds of a read that is alone and packed
  std::vector<SharedUse> uses{};
  std::vector<Placed> met{}; // those it meets, itself among them, when its rate was found
  MemoryCopies copies{};     // of its checkpoint, where that lies in memory
  Seconds since{};           // progress is of this time
  Seconds ready{};           // from here on it works
  Seconds started{};         // this attempt
  Seconds turned{};          // when its last write or read began or ended
  double attained = 0;
  double restarting = 0; // wall time
  double lost = 0;       // wall time
  bool holds = false;    // GPUs, as a job that runs or hangs
  bool gave_up = false;  // failed, but holds its GPUs still

  bool runs() const { return holds && !gave_up; }
  /// Work that is done by now, where its rate did not change since its progress was noted.
  double work_by(Seconds now) const;
  /// GPU seconds of its attempts by now.
  double attained_by(Seconds now, int gpus) const;

  /// An attempt of the job begins.
  void begin(Seconds now, Seconds works_from, bool reads, const Job& job);
  /// Whether its checkpoint is still to be read, before it works.
  bool restores() const { return transfer == Transfer::read || to_restore > 0; }
  /// A write or a read begins, or is over.
  void turn(const Checkpointing& checkpointing);
  /// Lets time pass until `now`.
  void pass_until(Seconds now, const Job& job, const Checkpointing& checkpointing);
  /// What happens to it if its rate stays as it is.
  NextTurn next(const Job& job, const Checkpointing& checkpointing) const;
};

} // namespace foretrain::models::fleet
