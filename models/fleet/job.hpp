// Jobs that come to a cluster over time, and what becomes of them.
#pragma once

#include "sim/base/units.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace foretrain::models::fleet {

inline constexpr Seconds kNever{std::numeric_limits<double>::infinity()};

using JobId = std::uint32_t; // position in a workload

/// Of a job that reads its data: the first pass over the data set on nodes that have none of it.
struct FirstPass {
  Seconds work{};  // of it, at rate 1; none: the job reads nothing
  double rate = 1; // of the job alone and packed, while it lasts
};

struct Job {
  std::string id;
  std::uint32_t queue = 0;   // position in the workload's queues
  std::uint32_t account = 0; // position in the workload's accounts
  int gpus = 1;
  int nodes = 0;                   // 0: as placement chooses
  std::uint32_t kind = 0;          // of work, for those who know its speed
  std::uint32_t checkpointing = 0; // position among those of the setting
  Seconds submit{};
  Seconds work{}; // at rate 1, that of a job alone and packed, its data in caches
  FirstPass first_pass;
  Seconds limit{kNever}; // wall time of an attempt, that kills
  double priority = 0;   // higher goes first

  /// Run time alone and packed.
  Seconds alone() const
  {
    return work + (1 / first_pass.rate - 1) * std::min(work, first_pass.work);
  }
};

/// Jobs in the order in which they arrive; those of the same second in the order of the file.
struct Workload {
  std::vector<Job> jobs;
  std::vector<std::string> queues{"default"};
  std::vector<std::string> accounts{""};
};

/// Why a waiting job does not run.
enum class Cause : std::uint8_t {
  nothing,
  gpus,          // too few are free
  fragmentation, // enough are free, but not where placement needs them
  quota,         // of its queue
  order,         // others go first
  guard,         // it would delay a job that has a reservation
  failure,       // it would fit if all nodes were up
  maintenance,   // it would not end before nodes are taken out of service
  reservation,   // nodes that would do are kept for others
  depth,         // backfilling looks at no more jobs than those before it
};
const char* text_of(Cause cause);

enum class JobState : std::uint8_t { completed, timeout, rejected, waiting, running };
const char* text_of(JobState state);

/// Where GPU time went, in GPU seconds. Of a cluster the parts add up to its capacity.
struct GpuTime {
  double productive = 0;
  double contended = 0;  // by which work took longer than undisturbed
  double checkpoint = 0; // writes that block
  double lost = 0;       // work that was done again
  double restart = 0;    // detection, and until work goes on
  double held = 0;       // by jobs that wait for the rest of their GPUs
  double fragmented = 0; // free, enough for the next job, but not where placement needs them
  double queued = 0;     // free while jobs wait
  double idle = 0;       // free while none waits
  double repair = 0;     // of nodes that are down, also for maintenance

  double busy() const { return productive + contended + checkpoint + lost + restart + held; }
  double total() const { return busy() + fragmented + queued + idle + repair; }
};

struct JobOutcome {
  Seconds start{kNever}; // of the first attempt
  Seconds end{kNever};
  Seconds run{};    // over all attempts
  double lost = 0;  // GPU seconds
  int nodes = 0;    // of the last attempt
  int restarts = 0; // after failures
  int preemptions = 0;
  Cause waited_for = Cause::nothing; // what took most of its wait
  JobState state = JobState::waiting;
};

} // namespace foretrain::models::fleet
