#include "models/plans/stages.hpp"

#include <algorithm>

namespace foretrain::models {

std::vector<Piece> pieces_of(const Transformer& t, const ParallelPlan& plan)
{
  const int count = plan.pipeline * plan.virtual_stages;
  std::vector<int> layers(static_cast<std::size_t>(count), t.layers / count);
  const int rest = t.layers % count;
  if (rest > 0 && (t.layers + 2) % count == 0) {
    std::fill(layers.begin(), layers.end(), (t.layers + 2) / count);
    --layers.front();
    --layers.back();
  } else {
    for (int i = 1; i <= rest; ++i)
      ++layers[static_cast<std::size_t>(i % count)];
  }
  std::vector<Piece> pieces;
  int done = 0;
  for (const int of_piece : layers) {
    Piece piece;
    const int plain = t.experts > 0 ? std::clamp(t.dense_layers - done, 0, of_piece) : of_piece;
    piece.dense = plain;
    piece.experts = of_piece - plain;
    done += of_piece;
    pieces.push_back(piece);
  }
  pieces.front().embedding = true;
  pieces.back().output = true;
  return pieces;
}

PieceParameters parameters_of(const Piece& piece, const Transformer& t, const ParallelPlan& plan)
{
  const LayerParameters plain = layer_parameters(t, false);
  const LayerParameters expert = layer_parameters(t, true);
  const ParameterCount all = parameters(t);
  const double cut = plan.tensor;
  PieceParameters p;
  p.shared = piece.layers() * (plain.attention / cut + plain.norms) +
             (piece.dense * plain.dense + piece.experts * expert.dense) / cut;
  p.experts = piece.experts * expert.experts / (plan.expert * plan.expert_tensor);
  if (piece.embedding)
    p.shared += all.embedding / cut;
  if (piece.output) {
    p.shared += all.output / cut + all.final_norm;
    // A tied embedding is kept on the last stage too.
    if (t.is_tied() && !piece.embedding)
      p.shared += static_cast<double>(t.vocabulary) * t.hidden / cut;
  }
  return p;
}

} // namespace foretrain::models
