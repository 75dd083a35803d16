// How the gradients of a job become the same on all GPUs, from the framework and the machine.
#pragma once

#include "experiments/resolve.hpp"
#include "models/parameter_servers.hpp"
#include "models/training_job.hpp"

namespace foretrain::experiments {

/// Fills in what a job of several GPUs needs to synchronise: buckets, synchroniser and what it
/// takes from the GPUs. Engine and machine must outlive the job.
void add_synchronisation(models::JobSetup& setup, const ResolvedJob& job, sim::Engine& engine,
                         const platforms::Machine& machine);

/// "ring LL, 2 channels, 50 buckets of up to 64 MiB"; empty with one GPU.
std::string synchronisation_text(const models::JobSetup& setup);

} // namespace foretrain::experiments
