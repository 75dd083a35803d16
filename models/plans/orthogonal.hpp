// Updates that are made orthogonal by products (Muon).
#pragma once

#include "models/plans/step_setting.hpp"

#include <vector>

namespace foretrain::models {

/// Weights that are one operand of a product, as a GPU holds them.
struct WeightMatrix {
  double rows = 0;
  double columns = 0;
  double count = 1;
  bool of_experts = false; // shared among fewer ranks than the others
};

/// Of one layer: queries, keys and values are one each, as are gate and up. Tensor-parallel ranks
/// cut them as they cut products, and orthogonalise what they hold (Megatron-Core, muon.py,
/// "blockwise").
std::vector<WeightMatrix> weight_matrices(const MemorySetting& setting, const LayerParts& parts);

/// Of a stage's layers on one GPU. From zero 1 on whole matrices are shared out among the ranks
/// that hold the same (arXiv:2502.16982, algorithm 1): no rank is done before the largest one.
Seconds orthogonal_time(const StepSetting& setting, const LayerRuns& layers);

} // namespace foretrain::models
