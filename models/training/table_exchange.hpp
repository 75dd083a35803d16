// What ranks send each other of embedding tables that they divide among themselves: rows forward,
// their gradients backward.
#pragma once

#include "models/training/compute_profile.hpp"

#include <vector>

namespace foretrain::models {

/// An all-to-all each way. Each begins when its data are there and ends before they are needed;
/// layers between the two run beside it. With a plan for several nodes the GPUs of each hand each
/// other their sums before, and what goes between nodes goes between GPUs of the same number;
/// gradients take the way back. Of rows that all GPUs keep, gradients go by all-reduce.
struct TableExchange {
  Bytes size;                                // that a rank sends each way, what it keeps included
  Seconds looked_up, needed;                 // from the beginning of forward
  Seconds gradients_there, gradients_needed; // from the beginning of backward
  Bytes within{};                            // the same, to ranks of its node alone
  Bytes shared{};                            // gradients of rows that every rank has, added up
};

/// Of a step with `batch` samples on each rank.
std::vector<TableExchange> table_exchanges(const Network& network, const ComputeProfile& profile,
                                           int batch, const Device& device);

} // namespace foretrain::models
