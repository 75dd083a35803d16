// A data-parallel job of a network: its program, and what adds its gradients on the machine.
#pragma once

#include "experiments/spec/resolve.hpp"
#include "models/collectives/collective.hpp"
#include "models/servers/synchroniser.hpp"
#include "models/training/work_plan.hpp"
#include "sim/engine/engine.hpp"

namespace foretrain::experiments {

struct DataParallelJob {
  std::shared_ptr<const models::WorkPlan> plan;
  std::shared_ptr<models::Synchroniser> synchroniser;   // servers or host memory; null: no such
  std::shared_ptr<const models::Collective> all_reduce; // of the GPUs' library; null: no such
};

/// `apart`, of each GPU: whether it is simulated by itself, see models::folded(). Engine, machine
/// and job must outlive the result.
DataParallelJob data_parallel_job(const ResolvedJob& job, const std::vector<bool>& apart,
                                  sim::Engine& engine, const platforms::Machine& machine);

} // namespace foretrain::experiments
