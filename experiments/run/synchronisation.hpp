// How the gradients of a job become the same on all GPUs, from the framework and the machine.
#pragma once

#include "experiments/spec/resolve.hpp"
#include "models/parameter_servers.hpp"
#include "models/training_job.hpp"

namespace foretrain::experiments {

/// Fills in what a job of several GPUs needs to synchronise: buckets, synchroniser and what it
/// takes from the GPUs. Engine and machine must outlive the job.
void add_synchronisation(models::JobSetup& setup, const ResolvedJob& job, sim::Engine& engine,
                         const platforms::Machine& machine);

} // namespace foretrain::experiments
