// A transformer that is whole on each of its GPUs as an ordinary network: layers with their times
// and gradients, for the training job that shares a machine with others.
#pragma once

#include "models/compute_profile.hpp"
#include "models/plans/step.hpp"

namespace foretrain::models {

struct Replica {
  Network network;
  ComputeProfile profile;
};

/// `setting`: of a plan that divides nothing. A layer of the network is one of the transformer,
/// before the first the embedding, behind the last the logits. Micro-batches before the last one
/// pass before the first layer: their gradients stay on the GPU.
Replica replica_of(const TransformerFile& file, const StepSetting& setting);

} // namespace foretrain::models
