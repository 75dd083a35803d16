// Which layers each piece of a pipeline holds.
#pragma once

#include "models/plans/parallel.hpp"
#include "models/transformer/counts.hpp"

#include <vector>

namespace foretrain::models {

/// Layers between two transfers of a pipeline; piece p stands on stage p % stages.
struct Piece {
  LayerRuns runs;
  bool embedding = false;
  bool output = false;
  int predictions = 0; // modules that predict further tokens, each with a layer like the last one
  int layers() const
  {
    int sum = predictions;
    for (const LayerRun& run : runs)
      sum += run.count;
    return sum;
  }
};

/// Pieces in the order of the forward pass. Layers that do not divide: where the last piece
/// predicts further tokens, too, all others are filled (Megatron Bridge, deepseek_v3.py,
/// set_deepseek_v3_pipeline_model_parallel_layout); where embedding and output
/// count as a layer each and then it divides, first and last piece have one less (Llama 3,
/// arXiv:2407.21783, section 3.3.2); else the pieces after the first have one more, as far as there
/// are any. The plan may say otherwise for the first and last stage.
std::vector<Piece> pieces_of(const Transformer& t, const ParallelPlan& plan);

/// Weights of a piece on one GPU, by whom they are copied among.
struct PieceParameters {
  double shared = 0;  // among data-parallel and context-parallel ranks
  double experts = 0; // among ranks that hold the same experts
  double total() const { return shared + experts; }
  PieceParameters& operator+=(const PieceParameters& other)
  {
    shared += other.shared;
    experts += other.experts;
    return *this;
  }
};
PieceParameters parameters_of(const Piece& piece, const Transformer& t, const ParallelPlan& plan);

/// Those of them that are trained: all, or what adapters have.
PieceParameters trained_of(const Piece& piece, const Transformer& t, const ParallelPlan& plan,
                           const std::optional<Adapters>& adapters);

} // namespace foretrain::models
