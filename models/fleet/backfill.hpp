// Which waiting jobs start now. A way is one file and one line of the table in backfill.cpp.
#pragma once

#include "models/fleet/scheduler.hpp"

#include <memory>

namespace foretrain::models::fleet {

class Backfill {
public:
  Backfill() = default;
  Backfill(const Backfill&) = delete;
  Backfill& operator=(const Backfill&) = delete;
  virtual ~Backfill() = default;

  /// Starts what may start now, after jobs have come, ended or been stopped.
  virtual void pass(Scheduler& scheduler) = 0;
  /// When a job has a reservation that begins first, though nothing else may happen then.
  virtual Seconds next_start() const { return kNever; }
};

std::unique_ptr<Backfill> backfill_by(const Policy& policy);

/// In their order, until one does not fit; a queue that is at its quota holds back itself only.
std::unique_ptr<Backfill> strict_order();
/// The first that does not fit has GPUs reserved, by name, at its earliest time; others may start
/// if they leave it those. Lifka, "The ANL/IBM SP scheduling system", JSSPP 1995.
std::unique_ptr<Backfill> easy();
/// Every waiting job has a reservation, and a job that ends early lets all move forward in order.
/// Mu'alem and Feitelson, IEEE TPDS 2001.
std::unique_ptr<Backfill> conservative();
/// The same in an order that is not that of arrival: all reservations are made anew in this order
/// whenever something has happened, as Slurm does.
std::unique_ptr<Backfill> conservative_anew();
/// Without gangs: node by node, whatever fits, held until the rest is there (Kubernetes' default).
std::unique_ptr<Backfill> pod_by_pod();

} // namespace foretrain::models::fleet
