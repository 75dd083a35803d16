// How often a layer that is no product passes over its input and its output.
#pragma once

#include "models/networks/network.hpp"
#include "models/training/framework.hpp"

namespace foretrain::models {

/// Reads of the layer's input and writes of its output, forward; backward reads of what is as long
/// as its input and output, writes included.
struct Passes {
  double forward_in = 1, forward_out = 1;
  double backward_in = 1, backward_out = 1;
  /// No kernel runs forward: another layer's does the work on its way.
  bool forward() const { return forward_in + forward_out > 0; }
};

/// Passes of layer `index` of the network. Normalisation in training reads its input once for the
/// statistics of the batch and once to normalise; backward reads input and incoming gradient for
/// the sums and again for the result. Statistics of one position's features need no second pass: a
/// block of threads holds them; only gradients of scale and shift read both again, as of
/// transformers. Softmax over a vocabulary so large that no cache holds the rows in work reads them
/// for the largest score, for the sum and for the result (PyTorch's SoftMax.cu,
/// cunn_SoftMaxForward); backward reads the gradient for its sum and again, and its zeros are
/// written before the words' own are put in (nll_loss_backward, or that of gather).
/// Other layers read and write once, backward reads gradient and saved output.
/// What convolutions beside a batch normalisation spare it: BatchNorm.
Passes passes_of(const Network& network, std::size_t index, const KernelSpec& kernels);

/// What adds up gradients of one tensor that several operations take.
struct AddedGradients {
  double passes = 0; // over the tensor
  int kernels = 0;
};

/// Of `gradients` added to a first one: each by a kernel that reads both and writes their sum
/// (PyTorch, torch/csrc/autograd/input_buffer.cpp), or read by the kernel behind them where chains
/// are fused.
AddedGradients added_gradients(int gradients, bool fused);

/// Whether layer `index` costs nothing where chains of element-wise work are fused: activations and
/// additions ride along with a convolution or a kernel that is bound by memory, before or behind
/// them, but for a product of two tensors, which waits for both and reads them. Between matrix
/// products, and behind the last one, a chain is one kernel, that of its softmax or of its first
/// layer, unless the product itself applies the activation.
bool rides_along(const Network& network, std::size_t index, const KernelSpec& kernels);

} // namespace foretrain::models
