// What a job reads, decodes and copies, and from where, with every preset loaded.
#pragma once

#include "experiments/spec/experiment.hpp"
#include "models/input/dataset.hpp"
#include "models/networks/network.hpp"
#include "models/training/framework.hpp"

namespace foretrain::experiments {

struct ResolvedInput {
  bool synthetic = true;
  InputSpec spec;
  models::Dataset dataset;
  models::StoredSample stored;
  models::Storing storing = models::Storing::tfrecord;
  models::InputSettings settings; // of the framework, with what the job says laid over it
  Bytes copied_sample;            // what one sample is on its way to the GPU
};

/// Throws ConfigError when the input is malformed or names what does not exist.
ResolvedInput resolve_input(const JobSpec& job, const models::Network& network,
                            const models::Framework& framework);

} // namespace foretrain::experiments
