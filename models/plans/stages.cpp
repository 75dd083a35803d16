#include "models/plans/stages.hpp"

#include <algorithm>

namespace foretrain::models {

namespace {

// Of every piece, where the plan tells those of the first or last stage.
std::vector<int> told_layers(const Transformer& t, const ParallelPlan& plan)
{
  const int told = (plan.first_stage_layers ? 1 : 0) + (plan.last_stage_layers ? 1 : 0);
  const int rest =
      t.layers - plan.first_stage_layers.value_or(0) - plan.last_stage_layers.value_or(0);
  const int others = rest / (plan.pipeline - told);
  std::vector<int> layers;
  for (int i = 0; i < plan.pipeline * plan.virtual_stages; ++i) {
    const int stage = stage_of_piece(plan.schedule, plan.pipeline, i);
    int of_stage = others;
    if (stage == 0)
      of_stage = plan.first_stage_layers.value_or(others);
    else if (stage == plan.pipeline - 1)
      of_stage = plan.last_stage_layers.value_or(others);
    layers.push_back(of_stage / plan.virtual_stages);
  }
  return layers;
}

std::vector<int> even_layers(const Transformer& t, const ParallelPlan& plan)
{
  const int count = plan.pipeline * plan.virtual_stages;
  std::vector<int> layers(static_cast<std::size_t>(count), t.layers / count);
  const int rest = t.layers % count;
  const int full = (t.layers + count - 1) / count;
  const int of_last = t.layers - full * (count - 1);
  if (rest > 0 && t.mtp_layers > 0 && of_last >= 0) {
    std::fill(layers.begin(), layers.end(), full);
    layers.back() = of_last;
  } else if (rest > 0 && (t.layers + 2) % count == 0) {
    std::fill(layers.begin(), layers.end(), (t.layers + 2) / count);
    --layers.front();
    --layers.back();
  } else {
    for (int i = 1; i <= rest; ++i)
      ++layers[static_cast<std::size_t>(i % count)];
  }
  return layers;
}

// A piece takes layers until they have more than its share of all weights, then the next one begins
// (nanotron, models/base.py: build_model; models/llama.py: get_block_compute_costs).
std::vector<int> weighed_layers(const Transformer& t, const ParallelPlan& plan)
{
  const auto weight_of = [&t](int layer) {
    const LayerParameters one = layer_parameters(t, t.parts_of(layer));
    return one.mixer + one.dense + one.experts;
  };
  double all = static_cast<double>(t.vocabulary) * t.hidden;
  for (int layer = 0; layer < t.layers; ++layer)
    all += weight_of(layer);
  const int count = plan.pipeline * plan.virtual_stages;
  std::vector<int> layers(static_cast<std::size_t>(count), 0);
  int piece = 0;
  double before = 0;
  for (int layer = 0; layer < t.layers; ++layer) {
    ++layers[static_cast<std::size_t>(piece)];
    before += weight_of(layer);
    if (before > all * ((piece + 1.0) / count))
      ++piece;
  }
  return layers;
}

std::vector<int> layers_of_pieces(const Transformer& t, const ParallelPlan& plan)
{
  if (!plan.stage_layers.empty())
    return plan.stage_layers;
  if (plan.first_stage_layers || plan.last_stage_layers)
    return told_layers(t, plan);
  return plan.cut == StageCut::weights ? weighed_layers(t, plan) : even_layers(t, plan);
}

} // namespace

std::vector<Piece> pieces_of(const Transformer& t, const ParallelPlan& plan,
                             const LayerTreatments& treatments)
{
  const std::vector<int> layers = layers_of_pieces(t, plan);
  std::vector<Piece> pieces;
  int done = 0;
  for (const int of_piece : layers) {
    Piece piece;
    for (int place = 0; place < of_piece; ++place)
      add(piece.runs, treatments.of(t, done + place, place), 1);
    done += of_piece;
    pieces.push_back(piece);
  }
  pieces.front().embedding = true;
  pieces.back().output = true;
  pieces.back().predictions = t.mtp_layers;
  return pieces;
}

EndParameters end_parameters(const Piece& piece, const Transformer& t, const ParallelPlan& plan)
{
  const ParameterCount all = parameters(t);
  const double cut = plan.tensor;
  EndParameters ends;
  if (piece.embedding)
    ends.embedding = all.embedding / cut;
  if (piece.output) {
    ends.output = all.output / cut + all.final_norm;
    // A tied embedding is kept on the last stage too.
    if (t.is_tied() && t.has_logits() && !shares_table(piece, t, plan))
      ends.output += static_cast<double>(t.vocabulary) * t.hidden / cut;
  }
  return ends;
}

namespace {

// Of a layer's attention: a tensor-parallel rank has at least one whole head of keys and values.
double copied_heads(const Transformer& t, LayerParts parts, double cut)
{
  if (parts.mixer != Mixer::attention || t.latent)
    return 0;
  const double copied = std::max(0.0, 1 - t.kv() / cut);
  return copied * 2 * t.head() * (t.hidden + (t.has_qkv_bias() ? 1 : 0));
}

} // namespace

PieceParameters parameters_of(const Piece& piece, const Transformer& t, const ParallelPlan& plan)
{
  const double cut = plan.tensor;
  LayerRuns runs = piece.runs;
  add(runs, t.prediction_parts(), piece.predictions);
  PieceParameters p;
  p.shared = piece.predictions * prediction_parameters(t) / cut;
  for (const LayerRun& run : runs) {
    const LayerParameters one = layer_parameters(t, run.parts);
    p.shared +=
        run.count * ((one.mixer + one.dense) / cut + one.norms + copied_heads(t, run.parts, cut));
    p.experts += run.count * one.experts / (plan.expert * plan.expert_tensor);
  }
  p.shared += end_parameters(piece, t, plan).total();
  return p;
}

PieceParameters trained_of(const Piece& piece, const Transformer& t, const ParallelPlan& plan,
                           const std::optional<Adapters>& adapters)
{
  if (!adapters)
    return parameters_of(piece, t, plan);
  PieceParameters p;
  for (const LayerRun& run : piece.runs) {
    const LayerParameters one = adapter_parameters(t, *adapters, run.parts);
    p.shared += run.count * (one.mixer + one.dense) / plan.tensor;
    p.experts += run.count * one.experts / (plan.expert * plan.expert_tensor);
  }
  return p;
}

} // namespace foretrain::models
