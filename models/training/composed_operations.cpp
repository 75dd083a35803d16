#include "models/training/composed_operations.hpp"

#include <algorithm>
#include <span>

namespace foretrain::models {

namespace {

// Passes of each kernel, in order; what has few elements (statistics of positions) is not counted
// but launched.
//
// gelu: 0.5 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) x (google-research/bert, modeling.py, and
//   official/modeling/activations/gelu.py): power, product, sum, product, tanh, sum, two products.
//   Backward (python/ops/math_grad.py): both factors 3 + 3, 0.5 2, tanh 3, constant 2, constant 2,
//   power 2 + 2 + 3, and the sum of three gradients of x 4.
// swish: sigmoid, product; its gradient makes the sigmoid again (python/ops/nn_impl.py): 2, 1 - s
//   2, product 3, 1 + 2, two products 3 + 3.
// layer_norm: tf.nn.moments and tf.nn.batch_normalization (contrib.layers.layer_norm; Keras, whose
//   fused one needs an epsilon of 1.001e-5, where BERT's is 1e-12): mean 1, squared difference 2,
//   mean 1; 1 / deviation times scale, written as wide as x, 1, with x 3, with the mean 2, from the
//   shift 2, sum 3. Backward: of the shift 1, negative 2, of the mean 3 + 1, of that factor 2, of x
//   3, of the factor 3, their sum 3, of the deviation 2 + 1, of the scale 2 + 1; the variance's,
//   repeated 1, divided 2, doubled 2, difference 2, product 3; the mean's 1 + 2; sum of three 4.
// dropout: random numbers 1, compared 1.25 with a result of a byte, scaled 2, that byte as a number
//   1.25, product 3 (python/ops/nn_ops.py, dropout_v2); backward product 3, scaled 2.
// softmax: largest 1, sum of exponentials 1, result 2 (core/kernels/softmax_op_gpu.cu.cc);
//   backward product 3, sum 1, difference 2, product 3 (python/ops/nn_grad.py, _SoftmaxGrad).
// scale_mask: product and sum; backward a product.
//
// Single precision: the power and the means (core/grappler/optimizers/auto_mixed_precision_lists.h,
// the list of what is dangerous; official/nlp/modeling/layers/transformer.py casts by hand).
constexpr ComposedOperation kTensorFlow[] = {
    {"gelu", 2 + 2 + 3 + 2 + 2 + 2 + 2 + 3, 3 + 3 + 2 + 3 + 2 + 2 + (2 + 2 + 3) + 4, 8, 10, true},
    {"swish", 2 + 3, 2 + 2 + 3 + 2 + 3 + 3, 2, 6},
    {"layer_norm", 1 + 2 + 1 + 1 + 3 + 2 + 2 + 3,
     1 + 2 + (3 + 1) + 2 + 3 + 3 + 3 + (2 + 1) + (2 + 1) + (1 + 2 + 2 + 2 + 3) + (1 + 2) + 4, 10,
     23, true},
    {"dropout", 1 + 1.25 + 2 + 1.25 + 3, 3 + 2, 5, 2},
    {"softmax", 1 + 1 + 2, 3 + 1 + 2 + 3, 3, 4},
    {"scale_mask", 2 + 2, 2, 2, 1},
    {"scale_scores", 2, 2, 1, 1}};

// What every framework composes. Scores of attention are scaled, then masked, which has no gradient
// (huggingface/transformers, BertSelfAttention; NVIDIA/DeepLearningExamples, the same).
constexpr ComposedOperation kAnywhere[] = {{"scale_mask", 2 + 2, 2, 2, 1},
                                           {"scale_scores", 2, 2, 1, 1}};

// XLA ends a kernel at each reduction over a row or a column, and repeats in those that read it
// what is element by element (compiler/xla/service/gpu/instruction_fusion.cc). layer_norm: mean 1,
// variance 1, result 2; backward both sums of a row 2, both of a column 2, result 3. softmax:
// largest 1, sum 1, result 2; backward sum 2, result 3. Clusters that are found on GPUs hold no
// random numbers (compiler/tf2xla/xla_op_registry.cc: cluster_stateful_rng_ops is left as it is).
// dropout: these are written 1 and read 1 by the chain, backward read again 1.
constexpr ComposedOperation kFusedOperations[] = {{"layer_norm", 1 + 1 + 2, 2 + 2 + 3, 3, 3, true},
                                                  {"softmax", 1 + 1 + 2, 2 + 3, 3, 2},
                                                  {"dropout", 1 + 1, 1, 1, 1}};

} // namespace

std::optional<ComposedOperation> composed_operation(Composition composition, bool fused,
                                                    const std::string& op)
{
  if (composition == Composition::none && fused)
    return std::nullopt;
  std::span<const ComposedOperation> known = kAnywhere;
  if (composition == Composition::tensorflow)
    known = fused ? std::span<const ComposedOperation>(kFusedOperations) : kTensorFlow;
  const auto found =
      std::ranges::find_if(known, [&](const ComposedOperation& one) { return op == one.op; });
  return found == known.end() ? std::nullopt : std::optional(*found);
}

} // namespace foretrain::models
