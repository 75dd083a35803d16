// Which layers each piece of a pipeline holds.
#pragma once

#include "models/plans/parallel.hpp"
#include "models/transformer/counts.hpp"

#include <vector>

namespace foretrain::models {

/// Layers that a job treats otherwise than the others.
struct LayerTreatments {
  int wide_first = 0; // of the model's, whose products stay in 16 bits
  int wide_last = 0;
  std::optional<int> repeated; // of each piece's, in the backward pass; absent: all of them
  int away = 0;                // of each piece's behind these, whose activations are in host memory

  /// Layer `number` of the model, `place` of its piece.
  LayerParts of(const Transformer& t, int number, int place) const
  {
    LayerParts parts = t.parts_of(number);
    parts.wide = number < wide_first || number >= t.layers - wide_last;
    parts.kept = repeated && place >= *repeated;
    const int begin = repeated.value_or(0);
    parts.away = place >= begin && place < begin + away;
    return parts;
  }
};

/// Layers between two transfers of a pipeline; stage_of_piece says where each stands.
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
/// are any. The plan may say otherwise for the first and last stage or for all, the framework for
/// all (StageCut).
std::vector<Piece> pieces_of(const Transformer& t, const ParallelPlan& plan,
                             const LayerTreatments& treatments = {});

/// Whether its logits have the table of the embedding, which is on the same stage.
inline bool shares_table(const Piece& piece, const Transformer& t, const ParallelPlan& plan)
{
  return piece.output && t.is_tied() && (piece.embedding || returns(plan.schedule));
}

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

/// Of these, those outside its layers: the embedding's, and those of final norm and logits.
struct EndParameters {
  double embedding = 0;
  double output = 0;
  double total() const { return embedding + output; }
};
EndParameters end_parameters(const Piece& piece, const Transformer& t, const ParallelPlan& plan);

/// Those of them that are trained: all, or what adapters have.
PieceParameters trained_of(const Piece& piece, const Transformer& t, const ParallelPlan& plan,
                           const std::optional<Adapters>& adapters);

} // namespace foretrain::models
