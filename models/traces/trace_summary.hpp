// What a trace says of its steps, without any model: how long, how busy, what waited for what.
#pragma once

#include "models/traces/steps.hpp"

#include <string>
#include <vector>

namespace foretrain::models {

/// Kernels of one name; times per step.
struct KernelSum {
  std::string name;
  KernelClass kind = KernelClass::memory;
  double count = 0;
  double seconds = 0;
};

/// Collectives of one kind, size and group; times of one.
struct CollectiveSum {
  std::string kind;
  double bytes = 0; // 0: not told
  int group = 0;
  int count = 0;      // in all steps
  double seconds = 0; // shortest: others had come late
  double mean = 0;
  double bus_rate = 0; // of the shortest; 0: not known
};

/// The same kernels of the main stream with and without a collective beside them, by their total
/// time: same name, grid, block and place in the step, nothing of other streams beside them.
struct Slowdown {
  std::string what; // "products", "memory-bound", "below 10 us"
  int kernels = 0;  // that ran beside one and have a counterpart
  double factor = 1;
  double added = 0; // seconds per kernel
};

/// Times are per step, on average over those that another one follows, without the first of several
/// (it holds what a profiler needs to start).
struct TraceSummary {
  std::string file, format, device, steps_by;
  int steps = 0;
  int rank = -1, world = 0;
  double step = 0;      // s: what follows adds up to it
  double variation = 0; // of the steps' lengths; 0 of fewer than three
  double compute = 0;   // any kernel but collectives
  double exposed = 0;   // a collective and no other kernel
  double hidden = 0;    // a collective beside other kernels
  double copies = 0;    // a copy and nothing else
  double input = 0;     // nothing, and the host waited for a batch
  double idle = 0;      // nothing, else
  double kernels = 0;   // launched
  double launch_delay =
      0;          // median from a call to the begin of its kernel where the device was idle
  double gap = 0; // median between two kernels of a stream that follow at once
  std::vector<KernelSum> top; // longest first
  std::vector<CollectiveSum> collectives;
  std::vector<Slowdown> slowdowns;
  std::vector<std::string> notes;
};

TraceSummary summarise(const Trace& trace);

} // namespace foretrain::models
