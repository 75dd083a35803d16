// Data-parallel training as a work program: every rank computes on its own batch, buckets of
// gradients are added as soon as they are whole.
//
// The same step as models/training_job.hpp takes with an all-reduce, without variation and without
// a background loop that runs out of step with the training (fusion_cycle): tests hold the two
// together, and other tools can take it over.
#pragma once

#include "models/buckets.hpp"
#include "sim/workload/program.hpp"

#include <string>
#include <vector>

namespace foretrain::models {

struct DataParallel {
  std::string name;
  int ranks = 1;
  ComputeProfile profile;
  std::vector<Bucket> buckets; // none with one rank
  Framework framework;
  BytesPerSecond fusion_copy{}; // at which a GPU copies into the fusion buffer; 0: it does not
  double held = 0;              // share of a GPU's arithmetic that an all-reduce takes
  bool input = false;           // batches are fetched
};

sim::Program data_parallel_program(const DataParallel& job);

} // namespace foretrain::models
