// Tables of which every GPU keeps all rows because each is looked up often.
//
// HugeCTR's hybrid embedding (NVIDIA-Merlin/HugeCTR, HugeCTR/src/embeddings/hybrid_embedding/
// calibration_data.cu, calculate_threshold): of n > 1 nodes a row is on every GPU when a step of
// all ranks looks it up at least
//
//   ratio * n * n / (n - 1)
//
// times, where ratio is the bandwidth of its all-to-all over that of its all-reduce, times an
// efficiency. GPUs read such rows for their own samples, and the sums of their gradients go by
// all-reduce. Rows of one table are taken to be looked up equally often, so that all of them are
// kept or none; that some rows of a large table are wanted more often than others is not counted.
#pragma once

#include "models/networks/layer.hpp"
#include "sim/base/schema.hpp"

#include <span>

namespace foretrain::models {

struct FrequentRows {
  double ratio = 0;
};

/// Of a layer's tables, those that every GPU keeps.
struct FrequentTables {
  double tables = 0;
  double rows = 0;
};

/// `samples`: of a step on all ranks. None on one node.
FrequentTables frequent_tables(std::span<const TableSize> tables, const FrequentRows& rules,
                               double samples, int nodes);

template <class V>
void describe(V& v, FrequentRows& s)
{
  v.required("ratio", s.ratio,
             "bandwidth of all-to-all over that of all-reduce, as the program takes it: of n nodes "
             "a row lies on every GPU when a step looks it up this, times n n / (n - 1), times",
             non_negative());
}

} // namespace foretrain::models
