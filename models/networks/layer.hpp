// One layer of a network, as a cost model sees it: arithmetic, traffic and gradients of one sample.
//
// GEMM-like layers do 2 FLOP per multiply-accumulate; a bias rides in the epilogue and is not
// counted. The other layers count the operations of their formula, one each for a comparison, a
// division or a transcendental function (docs/networks.md has the table).
#pragma once

#include "models/networks/shape.hpp"
#include "sim/base/units.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace foretrain::models {

enum class LayerKind {
  conv,
  linear,
  attention,   // the two products without weights: scores and context
  norm,        // over a batch
  row_norm,    // over the features of each position
  elementwise, // activations, dropout, softmax, residual additions
  pool,
  embedding,
  copy,    // moves activations without arithmetic: concatenation, picking a token
  regroup, // the same activations in the order that products of all heads in one call want
  tables,  // rows of embedding tables, in single precision, that one rank each holds
};

/// "conv", "linear", ...
const char* name_of(LayerKind kind);

/// `count` products of an m x k by a k x n matrix for each sample. For a batch of B samples m
/// becomes B m where the layer has weights, and count becomes B count where it has none
/// (attention).
struct Gemm {
  std::int64_t count = 0; // groups of a convolution, heads of attention; 0: not GEMM-like
  std::int64_t m = 0;     // output positions
  std::int64_t n = 0;     // output features
  std::int64_t k = 0;     // length of each sum
  double macs() const;
};

/// An embedding table that ranks divide among themselves.
struct TableSize {
  std::int64_t rows = 0;
  std::int64_t lookups = 1; // of a sample
};

struct Layer {
  std::string name; // "stage2.0.conv1"
  std::string op;   // as the file calls it
  LayerKind kind = LayerKind::elementwise;
  Shape output;
  Gemm gemm;
  /// By how much minimal filtering can cut the multiplications of a convolution (1: not at all).
  double minimal_filtering = 1.0;
  double macs = 0.0;       // multiply-accumulates of GEMM-like layers, the number papers publish
  Flops forward_flops;     // per sample
  double functions = 0;    // elementary functions per sample and pass, counted in tanh
  std::int64_t window = 0; // positions under the kernel of a convolution
  std::int64_t input_elements = 0;  // read per sample, weights not included
  std::int64_t output_elements = 0; // written per sample
  std::int64_t parameters = 0;      // trainable
  /// Weights that its kernels read and that are not its own to train: those of a layer before it,
  /// whose gradient it adds to, or frozen ones.
  std::int64_t borrowed_weights = 0;
  /// Trainable, of tables that ranks divide among themselves: in no exchange of gradients.
  std::int64_t divided_parameters = 0;
  std::vector<TableSize> tables; // those
  /// Elements that ranks hand to each other behind it, in all its samples' rows; their gradients go
  /// back. The next layer that `gathers` waits for them.
  std::int64_t exchanged_elements = 0;
  bool gathers = false;
  /// A loss that stays in the network's half precision.
  bool half_loss = false;
  /// Gradients of its input that are there before its own, by layers behind it that take the same
  /// input, each added to it.
  int summed_gradients = 0;
  /// False: no gradient is computed in it, of weights or of its input.
  bool trained = true;
  /// A gradient of its input is computed: something that is trained stands before it.
  bool input_gradient = true;
  /// Elements of each trainable tensor in the order of creation: weight, bias, gamma, beta.
  std::vector<std::int64_t> gradient_tensors;
  /// Kept but not trained: moving mean and variance of batch normalisation, frozen weights. No
  /// gradient, hence never part of a gradient all-reduce; each worker keeps its own or takes them
  /// from rank 0.
  std::int64_t state_elements = 0;
};

/// The layer functions below take shapes that were checked before.

Layer conv_layer(const Shape& input, const Window& window, std::int64_t out_channels,
                 std::int64_t groups, bool bias);
/// By how much minimal filtering can cut the multiplications of a convolution (1: not at all):
/// F(2x2, rxr) takes (r + 1)^2 of them for the 4 r^2 of the direct form, 2.25 times fewer for 3x3
/// kernels, 2.78 for 5x5; only with stride 1. Lavin and Gray, "Fast Algorithms for Convolutional
/// Neural Networks", CVPR 2016.
double minimal_filtering(const Window& window);
/// Each input position adds its window of the output, which is `stride` times as large.
Layer transposed_conv_layer(const Shape& input, const Window& window, std::int64_t out_channels,
                            bool bias);
/// `tied`: the weight is an embedding's, so that it has no gradient tensor of its own here.
Layer linear_layer(const Shape& input, std::int64_t out_features, bool bias, bool tied = false);
Layer batch_norm_layer(const Shape& input, bool scale);
/// A fixed factor and addition for each channel: batch normalisation whose vectors and statistics
/// are kept as they are.
Layer frozen_batch_norm_layer(const Shape& input);
/// Over groups of channels and all positions of one sample.
Layer group_norm_layer(const Shape& input);
Layer layer_norm_layer(const Shape& input);
/// An activation: "relu", "gelu", "softmax", ... Without arithmetic when there is no such function.
Layer activation_layer(const Shape& input, const std::string& op);
Layer elementwise_layer(const Shape& input, double flops_per_element);
/// Sum of several equal shapes.
Layer add_layer(const Shape& shape, std::int64_t terms);
/// Times factors of the same shape, or of one position.
Layer multiply_layer(const Shape& input, const Shape& factors);
/// Times one trained number for each feature.
Layer scale_layer(const Shape& input);
Layer pool_layer(const Shape& input, const Window& window, bool average);
Layer global_avg_pool_layer(const Shape& input);
/// Looks one row up in each table (rows each) for every token, and adds them.
/// `tied`: the first table is another layer's.
Layer embedding_layer(const Shape& ids, const std::vector<std::int64_t>& table_rows,
                      std::int64_t hidden, bool tied = false);
/// A sample's rows of tables, added to one for each table.
Layer tables_layer(std::vector<TableSize> tables, std::int64_t hidden);
/// Puts together what tables sent and what was made beside them.
Layer gathered_layer(const Shape& output);
/// Inner products of every two tokens, and the first token.
Layer interaction_layer(const Shape& input);
/// Who attends to whom: every query of a window to the same keys.
struct AttentionSpan {
  std::int64_t heads = 1;
  std::int64_t queries = 1; // of a window; divides the tokens
  std::int64_t keys = 1;    // that each of them meets
};
/// queries x keys scores of every head and window of tokens.
Layer attention_scores_layer(const Shape& input, const AttentionSpan& span);
/// Scores of the queries with keys that all samples share: encoded distances.
Layer position_scores_layer(const Shape& input, const AttentionSpan& span);
Layer attention_context_layer(const Shape& input, const AttentionSpan& span);
/// Both products and what lies between them in one kernel, which keeps the scores to itself
/// (FlashAttention, Dao et al., arXiv:2205.14135).
Layer fused_attention_layer(const Shape& input, const AttentionSpan& span);
/// The weights of a projection that runs once a batch, of what all samples share. Its arithmetic,
/// a sample's part of it, is left out.
Layer shared_projection_layer(const Shape& input, std::int64_t out_features);
/// Adds a trained table of `rows` for each head to the scores.
Layer position_bias_layer(const Shape& scores, std::int64_t rows, std::int64_t heads);
/// Adds a vector to the features of each position.
Layer add_vector_layer(const Shape& input);
/// The same layer with another's weights and bias.
Layer borrowed(Layer layer);
/// What no step trains: its parameters are state, nothing is computed backward.
Layer frozen_layer(Layer layer);
/// `output` from all of `input`.
Layer resized_layer(const Shape& input, const Shape& output, double flops_per_element);
/// Writes `output` from as many elements read.
Layer copy_layer(const Shape& output);
/// Each value of `output` the mean of four bilinear samples of an image (RoIAlign).
Layer regions_layer(const Shape& output);
Layer regroup_layer(const Shape& shape);

} // namespace foretrain::models
