// What became of jobs and of the cluster's time.
#pragma once

#include "models/fleet/gpu_set.hpp"
#include "models/fleet/job.hpp"
#include "models/fleet/overheads.hpp"

#include <vector>

namespace foretrain::models::fleet {

/// A job on GPUs of a node.
struct HeldSpan {
  JobId job;
  Slice slice;
  Seconds from, until;
};

struct DownSpan {
  int node;
  Seconds from, until;
};

/// The cluster at a time, until the next one.
struct Moment {
  Seconds time;
  int busy = 0; // GPUs
  int down = 0; // GPUs
  int waiting = 0;
};

struct FleetResult {
  std::vector<JobOutcome> jobs;
  GpuTime gpu_time;
  Seconds start{};       // the first submission
  Seconds end{};         // when the last job was done with, or nothing more can happen
  int failures = 0;      // outages of what was in service
  int drained = 0;       // nodes that were found faulty before they failed
  int interruptions = 0; // of jobs
  int down_most = 0;     // nodes
  double down_mean = 0;  // nodes
  double spare_time = 0; // node seconds of spares that are up and stand by
  int stuck = 0;         // jobs that wait for each other's GPUs for ever
  bool stopped = false;  // before its end
  std::vector<HeldSpan> spans;
  std::vector<HeldSpan> held_waiting; // by jobs that wait for the rest of their GPUs
  std::vector<OverheadSpan> overheads;
  std::vector<DownSpan> down;
  std::vector<Moment> moments;
};

} // namespace foretrain::models::fleet
