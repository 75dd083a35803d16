// Data-parallel training as a work program: every rank computes on its own batch, buckets of
// gradients are added as soon as they are whole. See docs/model.md.
//
// Per rank, for each batch of the step: fetch it, forward (layer by layer where variables are
// fetched), backward, of the last batch in stretches that end where a bucket is complete; gradients
// of the others are added up. Then the optimizer. Rows of tables that the ranks divide, and their
// gradients, are exchanged beside what does not need them. Per bucket: agreement, fusion buffer,
// synchronisation. At the end the framework's host work.
#pragma once

#include "models/training/buckets.hpp"
#include "models/training/table_exchange.hpp"
#include "sim/workload/program.hpp"

#include <string>
#include <vector>

namespace foretrain::models {

/// What adds the gradients of a bucket.
enum class Adding {
  nothing,    // one rank, or inference
  all_reduce, // calls of the GPUs' library, one after the other
  servers,    // a Synchroniser's ways
  fetching,   // the same, and each step fetches its variables anew
};

struct DataParallel {
  std::string name;
  std::vector<sim::WorkRank> ranks; // that stand for all devices, in their order
  ComputeProfile profile;
  std::vector<Bucket> buckets; // none where nothing is added
  std::vector<TableExchange> tables;
  int nodes = 1; // of as many devices each, one after the other
  Framework framework;
  Adding adding = Adding::nothing;
  BytesPerSecond fusion_copy{}; // at which a GPU copies into the fusion buffer; 0: it does not
  double held = 0;              // share of a GPU's arithmetic that an all-reduce takes
  bool input = false;           // batches are fetched
  int batches = 1;              // of a step: gradients are added up over them, exchanged once
  Seconds adding_up;            // of one batch's gradients to those before
};

sim::Program data_parallel_program(const DataParallel& job);

/// Devices that do the same, in a row, as one rank: all of them but those that are `apart` (one
/// flag each), which are ranks of their own.
std::vector<sim::WorkRank> folded(const std::vector<bool>& apart);

} // namespace foretrain::models
