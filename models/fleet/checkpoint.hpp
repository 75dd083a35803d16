// Checkpoints: when they are written, what they cost, and how much work a failure takes back.
#pragma once

#include "sim/base/units.hpp"

#include <limits>

namespace foretrain::models::fleet {

struct Checkpointing {
  Seconds interval{std::numeric_limits<double>::infinity()}; // of work, between two writes
  Seconds write{};                                           // of one
  bool asynchronous = false; // work goes on during the write; else it waits
};

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

/// A job's work, in seconds at rate 1, and the wall time that it took.
struct Progress {
  double saved = 0; // work that a failure does not take
  double open = 0;  // work since
  double saved_wall = 0;
  double open_wall = 0;
  double writing = 0; // wall time in writes that block
  double cycle = 0;   // wall time since the last checkpoint was due
  double older = 0;   // of the open work, what the write that runs will save
  double older_wall = 0;

  double work() const { return saved + open; }
};

/// Lets `wall` seconds pass in which work goes at `rate`.
void advance(Progress& progress, double wall, double rate, const Checkpointing& checkpointing);

/// Wall time until `work` seconds of work are done.
double time_to(const Progress& progress, double work, double rate,
               const Checkpointing& checkpointing);

/// Takes back what is not saved; returns the wall time that is lost.
double fail(Progress& progress);

/// Saves what there is, as preemption does.
void save(Progress& progress);

} // namespace foretrain::models::fleet
