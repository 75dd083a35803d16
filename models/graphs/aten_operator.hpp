// PyTorch's operators: shapes of inputs and outputs to arithmetic and traffic.
#pragma once

#include "models/networks/operator_spec.hpp"

#include <string>
#include <vector>

namespace foretrain::models {

using AtenShape = std::vector<double>;

struct AtenCall {
  std::string name; // "aten::conv2d"
  std::vector<AtenShape> inputs, outputs;
  std::vector<double> stride; // of a convolution
  double groups = 1;
  std::vector<double> dilation = {};
  bool transposed = false;
  /// Of each input, whether nothing in the step computed it: a weight, or the batch. Empty: not
  /// told.
  std::vector<bool> kept = {};
};

/// Whether its cost is known; those inside of it are then part of it.
bool known_operator(const std::string& name);

/// What it does for each of `batch` samples, without gradients of weights (trained_tensors).
/// Several for fused attention. Empty where shapes that it needs are not told.
std::vector<OperatorSpec> operators_of(const AtenCall& call, double batch);

/// A matrix product that does not say which of its operands is a weight.
bool is_product(const std::string& name);

/// Any product of matrices, layers included.
bool multiplies(const std::string& name);

/// Works on single numbers alone.
bool is_of_scalars(const AtenCall& call);

/// Which inputs are weights, by their place: of addmm, too, where it adds a vector (a layer that
/// calls it itself, as Hugging Face's Conv1D does). Of other products the operand that is `kept`,
/// the second one where both are.
std::vector<std::size_t> weight_inputs(const AtenCall& call);

double elements(const AtenShape& shape);

} // namespace foretrain::models
