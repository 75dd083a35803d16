#include "realrun/cpu/network.hpp"

#include "realrun/common/clock.hpp"
#include "realrun/common/parameters.hpp"
#include "realrun/common/reference_ops.hpp"

#include <Eigen/Core>

namespace foretrain::realrun {

namespace {

template <class T>
using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <class T>
using View = Eigen::Map<Matrix<T>, Eigen::Unaligned, Eigen::OuterStride<>>;

template <class T>
View<T> view(T* data, std::size_t rows, std::size_t columns, std::size_t stride)
{
  return View<T>(data, static_cast<Eigen::Index>(rows), static_cast<Eigen::Index>(columns),
                 Eigen::OuterStride<>(static_cast<Eigen::Index>(stride)));
}

template <class T>
View<T> view(T* data, std::size_t rows, std::size_t columns)
{
  return view(data, rows, columns, columns);
}

template <class T, class Product>
void assign(View<T> to, const Product& product, bool add)
{
  if (add)
    to.noalias() += product;
  else
    to.noalias() = product;
}

} // namespace

template <class T>
Network<T>::Network(const Program& program, int batch, int seed)
    : program_(program), batch_(static_cast<std::size_t>(batch)),
      gradients_(program.parameter_count), velocity_(program.parameter_count),
      scratch_(batch_ * program.largest_patch_matrix), forward_s_(program.ops.size()),
      backward_s_(program.ops.size())
{
  const std::vector<float> start = starting_parameters(program, seed);
  parameters_.assign(start.begin(), start.end());
  for (const Buffer& buffer : program.buffers) {
    values_.emplace_back(batch_ * buffer.size());
    slopes_.emplace_back(batch_ * buffer.size());
  }
  std::size_t largest_head = 0;
  for (const Op& op : program.ops) {
    saved_.emplace_back(batch_ * op.saved);
    if (op.kind == OpKind::attention)
      largest_head = std::max(largest_head, op.saved / static_cast<std::size_t>(op.heads));
  }
  head_.resize(largest_head);
}

template <class T>
double Network<T>::forward(const float* pixels, const int* labels, double divisor)
{
  std::copy_n(pixels, values_[0].size(), values_[0].begin());
  for (std::size_t i = 0; i < program_.ops.size(); ++i) {
    const double start = now_s();
    run_forward(program_.ops[i]);
    forward_s_[i] = now_s() - start;
  }
  std::vector<T> losses(batch_);
  reference::cross_entropy(values_[program_.logits].data(), labels, batch_,
                           static_cast<std::size_t>(program_.classes), T(1.0 / divisor),
                           losses.data(), slopes_[program_.logits].data());
  double sum = 0.0;
  for (const T loss : losses)
    sum += static_cast<double>(loss);
  return sum;
}

template <class T>
void Network<T>::backward(const std::function<void(std::size_t)>& done)
{
  for (std::size_t i = program_.ops.size(); i-- > 0;) {
    const double start = now_s();
    run_backward(program_.ops[i]);
    backward_s_[i] = now_s() - start;
    done(i);
  }
}

template <class T>
void Network<T>::update(double rate, double momentum)
{
  reference::sgd(parameters_.data(), velocity_.data(), gradients_.data(), parameters_.size(),
                 static_cast<T>(rate), static_cast<T>(momentum));
}

template <class T>
void Network<T>::run_forward(const Op& op)
{
  const T* in = values_[op.input].data();
  T* out = values_[op.output].data();
  const Buffer& shape = program_.buffers[op.input];
  const std::size_t count = values_[op.output].size();
  switch (op.kind) {
  case OpKind::convolution:
    reference::gather_patches(in, batch_, op.patches, scratch_.data());
    [[fallthrough]];
  case OpKind::linear:
    return gemm_forward(op);
  case OpKind::relu:
    return reference::relu(in, count, out);
  case OpKind::gelu:
    return reference::gelu(in, count, out);
  case OpKind::layer_norm:
    return reference::layer_norm(in, batch_ * shape.rows, shape.width, parameter(op.weight),
                                 parameter(op.bias), out, saved_[index_of(op)].data());
  case OpKind::attention:
    return attention_forward(op);
  case OpKind::add:
    return reference::add(in, values_[op.other].data(), count, out);
  case OpKind::mean_pool:
    return reference::mean_pool(in, batch_, shape.rows, shape.width, out);
  }
}

template <class T>
void Network<T>::run_backward(const Op& op)
{
  const T* in = values_[op.input].data();
  const T* slope = slopes_[op.output].data();
  T* to = slopes_[op.input].data();
  const Buffer& shape = program_.buffers[op.input];
  const std::size_t count = values_[op.output].size();
  switch (op.kind) {
  case OpKind::convolution:
  case OpKind::linear:
    return gemm_backward(op);
  case OpKind::relu:
    return reference::relu_gradient(in, slope, count, to, op.adds_to_input);
  case OpKind::gelu:
    return reference::gelu_gradient(in, slope, count, to, op.adds_to_input);
  case OpKind::layer_norm:
    return reference::layer_norm_gradient(in, slope, batch_ * shape.rows, shape.width,
                                          parameter(op.weight), saved_[index_of(op)].data(), to,
                                          op.adds_to_input, gradient(op.weight), gradient(op.bias));
  case OpKind::attention:
    return attention_backward(op);
  case OpKind::add:
    reference::copy_gradient(slope, count, to, op.adds_to_input);
    return reference::copy_gradient(slope, count, slopes_[op.other].data(), op.adds_to_other);
  case OpKind::mean_pool:
    return reference::mean_pool_gradient(slope, batch_, shape.rows, shape.width, to,
                                         op.adds_to_input);
  }
}

template <class T>
void Network<T>::gemm_forward(const Op& op)
{
  const auto& weight = program_.parameters[static_cast<std::size_t>(op.weight)];
  const std::size_t rows = batch_ * program_.buffers[op.output].rows;
  T* in = op.kind == OpKind::convolution ? scratch_.data() : values_[op.input].data();
  T* out = values_[op.output].data();
  view(out, rows, weight.columns).noalias() =
      view(in, rows, weight.rows) * view(parameter(op.weight), weight.rows, weight.columns);
  reference::add_bias(out, rows, weight.columns, parameter(op.bias));
}

template <class T>
void Network<T>::gemm_backward(const Op& op)
{
  const auto& weight = program_.parameters[static_cast<std::size_t>(op.weight)];
  const std::size_t rows = batch_ * program_.buffers[op.output].rows;
  const bool convolution = op.kind == OpKind::convolution;
  if (convolution) // the patches are gathered again: keeping them would cost kernel^2 the memory
    reference::gather_patches(values_[op.input].data(), batch_, op.patches, scratch_.data());
  T* in = convolution ? scratch_.data() : values_[op.input].data();
  T* slope = slopes_[op.output].data();
  reference::sum_columns(slope, rows, weight.columns, gradient(op.bias));
  view(gradient(op.weight), weight.rows, weight.columns).noalias() =
      view(in, rows, weight.rows).transpose() * view(slope, rows, weight.columns);
  if (!op.input_gradient)
    return;
  const auto product = view(slope, rows, weight.columns) *
                       view(parameter(op.weight), weight.rows, weight.columns).transpose();
  T* to = slopes_[op.input].data();
  if (convolution) {
    view(scratch_.data(), rows, weight.rows).noalias() = product;
    reference::scatter_patches(scratch_.data(), batch_, op.patches, to, op.adds_to_input);
  } else {
    assign(view(to, rows, weight.rows), product, op.adds_to_input);
  }
}

template <class T>
void Network<T>::attention_forward(const Op& op)
{
  const std::size_t rows = program_.buffers[op.input].rows;
  const std::size_t width = program_.buffers[op.output].width;
  const auto heads = static_cast<std::size_t>(op.heads);
  const std::size_t size = width / heads;
  const T factor = T(1) / std::sqrt(static_cast<T>(size));
  for (std::size_t n = 0; n < batch_; ++n)
    for (std::size_t h = 0; h < heads; ++h) {
      T* qkv = values_[op.input].data() + n * rows * 3 * width + h * size;
      T* probabilities = saved_[index_of(op)].data() + (n * heads + h) * rows * rows;
      view(probabilities, rows, rows).noalias() =
          view(qkv, rows, size, 3 * width) * view(qkv + width, rows, size, 3 * width).transpose();
      reference::softmax_rows(probabilities, rows, rows, factor);
      view(values_[op.output].data() + n * rows * width + h * size, rows, size, width).noalias() =
          view(probabilities, rows, rows) * view(qkv + 2 * width, rows, size, 3 * width);
    }
}

template <class T>
void Network<T>::attention_backward(const Op& op)
{
  const std::size_t rows = program_.buffers[op.input].rows;
  const std::size_t width = program_.buffers[op.output].width;
  const auto heads = static_cast<std::size_t>(op.heads);
  const std::size_t size = width / heads;
  const T factor = T(1) / std::sqrt(static_cast<T>(size));
  const bool add = op.adds_to_input;
  for (std::size_t n = 0; n < batch_; ++n)
    for (std::size_t h = 0; h < heads; ++h) {
      const std::size_t at = n * rows * 3 * width + h * size;
      T* qkv = values_[op.input].data() + at;
      T* to = slopes_[op.input].data() + at;
      const auto part = [&](T* base, std::size_t which) {
        return view(base + which * width, rows, size, 3 * width);
      };
      const auto slope =
          view(slopes_[op.output].data() + n * rows * width + h * size, rows, size, width);
      T* probabilities = saved_[index_of(op)].data() + (n * heads + h) * rows * rows;
      auto scores = view(head_.data(), rows, rows);
      assign<T>(part(to, 2), view(probabilities, rows, rows).transpose() * slope, add);
      scores.noalias() = slope * part(qkv, 2).transpose();
      reference::softmax_rows_gradient(probabilities, head_.data(), rows, rows, factor);
      assign<T>(part(to, 0), scores * part(qkv, 1), add);
      assign<T>(part(to, 1), scores.transpose() * part(qkv, 0), add);
    }
}

template class Network<float>;
template class Network<double>;

} // namespace foretrain::realrun
