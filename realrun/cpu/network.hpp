// The CPU engine: runs a Program forward and backward on one batch with Eigen GEMMs.
#pragma once

#include "realrun/common/program.hpp"

#include <functional>
#include <span>
#include <vector>

namespace foretrain::realrun {

/// T is float for runs and double where a test compares with finite differences.
template <class T>
class Network {
public:
  Network(const Program& program, int batch, int seed);

  /// Returns the sum of the samples' losses. The gradient that backward() starts from is that of
  /// the sum divided by `divisor` (the samples of all ranks together).
  double forward(const float* pixels, const int* labels, double divisor);
  /// Fills gradients(); `done(op)` is called after each operation, last one first.
  void backward(const std::function<void(std::size_t)>& done);
  void update(double rate, double momentum);

  std::span<T> parameters() { return parameters_; }
  std::span<T> gradients() { return gradients_; }
  /// Seconds each operation took in the last pass.
  const std::vector<double>& forward_s() const { return forward_s_; }
  const std::vector<double>& backward_s() const { return backward_s_; }

private:
  void run_forward(const Op& op);
  void run_backward(const Op& op);
  void gemm_forward(const Op& op);
  void gemm_backward(const Op& op);
  void attention_forward(const Op& op);
  void attention_backward(const Op& op);

  T* parameter(int index) { return parameters_.data() + offset(index); }
  T* gradient(int index) { return gradients_.data() + offset(index); }
  std::size_t offset(int index) const
  {
    return program_.parameters[static_cast<std::size_t>(index)].offset;
  }
  std::size_t index_of(const Op& op) const
  {
    return static_cast<std::size_t>(&op - program_.ops.data());
  }

  const Program& program_;
  std::size_t batch_;
  std::vector<T> parameters_, gradients_, velocity_;
  std::vector<std::vector<T>> values_; // one per buffer
  std::vector<std::vector<T>> slopes_; // gradient of each buffer
  std::vector<std::vector<T>> saved_;  // one per op
  std::vector<T> scratch_, head_;
  std::vector<double> forward_s_, backward_s_;
};

extern template class Network<float>;
extern template class Network<double>;

} // namespace foretrain::realrun
