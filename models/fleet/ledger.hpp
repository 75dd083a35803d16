// Where GPU time goes that no job uses, and the cluster over time.
#pragma once

#include "models/fleet/fleet_result.hpp"
#include "models/fleet/scheduler.hpp"

#include <map>
#include <utility>

namespace foretrain::models::fleet {

class Ledger {
public:
  Ledger(const ClusterShape& shape, int spares, bool history);

  /// Time passes in which the scheduler's state does not change and `working` GPUs are those of
  /// jobs that run; who holds others hangs, or waits for its pods. `spares_up`: nodes.
  void pass(const Scheduler& scheduler, int working, int spares_up, Seconds until);
  void note(const Scheduler& scheduler);
  /// Moves the cluster's idle time, what is down, and its history to the result.
  void close(FleetResult& result);
  int nodes_out() const { return out_; }
  void set_nodes_out(int nodes);

private:
  // What a job that waits holds of a node, and since when.
  struct Holding {
    GpuBits gpus;
    Seconds since;
  };
  using Holdings = std::map<std::pair<JobId, int>, Holding>;

  int held_by_waiting(const Scheduler& scheduler);
  void follow(Holdings now, Seconds time);

  int gpus_;       // without spares
  int spare_gpus_; // of a cluster of which nothing is broken
  bool history_;
  Seconds begin_{kNever}, end_{};
  int out_ = 0; // nodes that are missing
  int out_most_ = 0;
  double out_time_ = 0;
  double spare_time_ = 0; // node seconds
  GpuTime time_;
  std::vector<Moment> moments_;
  Holdings holdings_;
  std::vector<HeldSpan> held_;
};

} // namespace foretrain::models::fleet
