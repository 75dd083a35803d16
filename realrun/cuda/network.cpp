#include "realrun/cuda/network.hpp"

#include "realrun/common/parameters.hpp"
#include "realrun/cuda/kernels.hpp"
#include "sim/base/error.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>

namespace foretrain::realrun {

namespace {

template <class T>
class Network final : public DeviceNetwork {
public:
  Network(const Program& program, bool tf32, int batch, int seed, const Stream& stream);

  void forward(const float* pixels, const int* labels, double divisor) override;
  void backward(const std::function<void(std::size_t)>& done) override;
  void update(double rate, double momentum) override;

  float* gradients() const override { return gradients_.data(); }
  float* losses() const override { return losses_.data(); }
  float loss_scale() const override { return std::is_same_v<T, __half> ? 1024.0F : 1.0F; }
  const Timeline& forward_times() const override { return forward_times_; }
  const Timeline& backward_times() const override { return backward_times_; }

private:
  void run_forward(const Op& op);
  void run_backward(const Op& op);
  void gemm_forward(const Op& op);
  void gemm_backward(const Op& op);
  void norm_backward(const Op& op);
  void attention_forward(const Op& op);
  void attention_backward(const Op& op);

  std::size_t offset(int index) const
  {
    return program_.parameters[static_cast<std::size_t>(index)].offset;
  }
  float* master(int index) const { return master_.data() + offset(index); }
  float* gradient(int index) const { return gradients_.data() + offset(index); }
  T* working(int index) const
  {
    if constexpr (std::is_same_v<T, float>)
      return master(index);
    else
      return working_.data() + offset(index);
  }
  T* value(std::size_t buffer) const { return values_[buffer].data(); }
  T* slope(std::size_t buffer) const { return slopes_[buffer].data(); }
  std::size_t index_of(const Op& op) const
  {
    return static_cast<std::size_t>(&op - program_.ops.data());
  }

  const Program& program_;
  std::size_t batch_;
  const Stream& stream_;
  cudaStream_t queue_;
  Blas blas_;
  DeviceBuffer<float> master_, velocity_, gradients_, losses_;
  DeviceBuffer<T> working_; // empty for fp32: the master copy works itself
  std::vector<DeviceBuffer<T>> values_, slopes_;
  std::vector<DeviceBuffer<T>> probabilities_; // attention, per op
  std::vector<DeviceBuffer<float>> moments_;   // layer norm, per op
  DeviceBuffer<T> patches_, scores_;
  DeviceBuffer<float> products_, sums_;
  Timeline forward_times_, backward_times_;
};

template <class T>
Network<T>::Network(const Program& program, bool tf32, int batch, int seed, const Stream& stream)
    : program_(program), batch_(static_cast<std::size_t>(batch)), stream_(stream),
      queue_(stream.get()), blas_(stream, tf32), master_(program.parameter_count),
      velocity_(program.parameter_count), gradients_(program.parameter_count), losses_(batch_),
      working_(std::is_same_v<T, float> ? 0 : program.parameter_count),
      patches_(batch_ * program.largest_patch_matrix), forward_times_(program.ops.size()),
      backward_times_(program.ops.size())
{
  std::size_t scores = 0;
  std::size_t products = 0;
  std::size_t columns = 1;
  for (const Buffer& buffer : program.buffers) {
    values_.emplace_back(batch_ * buffer.size());
    slopes_.emplace_back(batch_ * buffer.size());
    columns = std::max(columns, buffer.width);
  }
  for (const Op& op : program.ops) {
    const bool attention = op.kind == OpKind::attention;
    const bool norm = op.kind == OpKind::layer_norm;
    probabilities_.emplace_back(attention ? batch_ * op.saved : 0);
    moments_.emplace_back(norm ? batch_ * op.saved : 0);
    scores = std::max(scores, attention ? batch_ * op.saved : 0);
    products = std::max(products, norm ? batch_ * program.buffers[op.input].size() : 0);
  }
  scores_ = DeviceBuffer<T>(scores);
  products_ = DeviceBuffer<float>(products);
  sums_ = DeviceBuffer<float>(kernels::sum_columns_scratch(columns));
  const std::vector<float> start = starting_parameters(program, seed);
  REALRUN_CHECK(cudaMemcpyAsync(master_.data(), start.data(), start.size() * sizeof(float),
                                cudaMemcpyHostToDevice, queue_));
  REALRUN_CHECK(cudaMemsetAsync(velocity_.data(), 0, velocity_.size() * sizeof(float), queue_));
  if constexpr (!std::is_same_v<T, float>)
    kernels::convert(master_.data(), master_.size(), working_.data(), queue_);
  REALRUN_CHECK(cudaStreamSynchronize(queue_)); // `start` goes away
}

template <class T>
void Network<T>::forward(const float* pixels, const int* labels, double divisor)
{
  forward_times_.start(stream_);
  kernels::convert(pixels, values_[0].size(), value(0), queue_);
  for (const Op& op : program_.ops) {
    const Range range(op.name.c_str());
    run_forward(op);
    forward_times_.mark(stream_);
  }
  kernels::cross_entropy(
      value(program_.logits), labels, batch_, static_cast<std::size_t>(program_.classes),
      loss_scale() / static_cast<float>(divisor), losses(), slope(program_.logits), queue_);
}

template <class T>
void Network<T>::backward(const std::function<void(std::size_t)>& done)
{
  backward_times_.start(stream_);
  for (std::size_t i = program_.ops.size(); i-- > 0;) {
    const Range range(program_.ops[i].name.c_str());
    run_backward(program_.ops[i]);
    backward_times_.mark(stream_);
    done(i);
  }
}

template <class T>
void Network<T>::update(double rate, double momentum)
{
  T* copy = nullptr;
  if constexpr (std::is_same_v<T, float>)
    copy = master_.data();
  else
    copy = working_.data();
  kernels::sgd(master_.data(), velocity_.data(), gradients_.data(), master_.size(),
               static_cast<float>(rate), static_cast<float>(momentum), loss_scale(), copy, queue_);
}

template <class T>
void Network<T>::run_forward(const Op& op)
{
  const T* in = value(op.input);
  T* out = value(op.output);
  const Buffer& shape = program_.buffers[op.input];
  const std::size_t count = values_[op.output].size();
  switch (op.kind) {
  case OpKind::convolution:
    kernels::gather_patches(in, batch_, op.patches, patches_.data(), queue_);
    [[fallthrough]];
  case OpKind::linear:
    return gemm_forward(op);
  case OpKind::relu:
    return kernels::relu(in, count, out, queue_);
  case OpKind::gelu:
    return kernels::gelu(in, count, out, queue_);
  case OpKind::layer_norm:
    return kernels::layer_norm(in, batch_ * shape.rows, shape.width, master(op.weight),
                               master(op.bias), out, moments_[index_of(op)].data(), queue_);
  case OpKind::attention:
    return attention_forward(op);
  case OpKind::add:
    return kernels::add(in, static_cast<const T*>(value(op.other)), count, out, queue_);
  case OpKind::mean_pool:
    return kernels::mean_pool(in, batch_, shape.rows, shape.width, out, queue_);
  }
}

template <class T>
void Network<T>::run_backward(const Op& op)
{
  const T* in = value(op.input);
  const T* from = slope(op.output);
  T* to = slope(op.input);
  const Buffer& shape = program_.buffers[op.input];
  const std::size_t count = values_[op.output].size();
  switch (op.kind) {
  case OpKind::convolution:
  case OpKind::linear:
    return gemm_backward(op);
  case OpKind::relu:
    return kernels::relu_gradient(in, from, count, to, op.adds_to_input, queue_);
  case OpKind::gelu:
    return kernels::gelu_gradient(in, from, count, to, op.adds_to_input, queue_);
  case OpKind::layer_norm:
    return norm_backward(op);
  case OpKind::attention:
    return attention_backward(op);
  case OpKind::add:
    kernels::copy_gradient(from, count, to, op.adds_to_input, queue_);
    return kernels::copy_gradient(from, count, slope(op.other), op.adds_to_other, queue_);
  case OpKind::mean_pool:
    return kernels::mean_pool_gradient(from, batch_, shape.rows, shape.width, to, op.adds_to_input,
                                       queue_);
  }
}

template <class T>
void Network<T>::gemm_forward(const Op& op)
{
  const auto& weight = program_.parameters[static_cast<std::size_t>(op.weight)];
  const std::size_t rows = batch_ * program_.buffers[op.output].rows;
  const T* in = op.kind == OpKind::convolution ? patches_.data() : value(op.input);
  T* out = value(op.output);
  blas_.multiply<T, T>({rows, weight.columns, weight.rows}, {in, weight.rows},
                       {working(op.weight), weight.columns}, {out, weight.columns});
  kernels::add_bias(out, rows, weight.columns, master(op.bias), queue_);
}

template <class T>
void Network<T>::gemm_backward(const Op& op)
{
  const auto& weight = program_.parameters[static_cast<std::size_t>(op.weight)];
  const std::size_t rows = batch_ * program_.buffers[op.output].rows;
  const bool convolution = op.kind == OpKind::convolution;
  const T* in = value(op.input);
  if (convolution) { // gathered again: keeping the patches would cost kernel^2 the memory
    kernels::gather_patches(in, batch_, op.patches, patches_.data(), queue_);
    in = patches_.data();
  }
  const T* from = slope(op.output);
  kernels::sum_columns(from, rows, weight.columns, gradient(op.bias), sums_.data(), queue_);
  blas_.multiply<T, float>({weight.rows, weight.columns, rows}, {in, weight.rows, true},
                           {from, weight.columns}, {gradient(op.weight), weight.columns});
  if (!op.input_gradient)
    return;
  T* to = convolution ? patches_.data() : slope(op.input);
  blas_.multiply<T, T>({rows, weight.rows, weight.columns}, {from, weight.columns},
                       {working(op.weight), weight.columns, true},
                       {to, weight.rows, !convolution && op.adds_to_input});
  if (convolution)
    kernels::scatter_patches(static_cast<const T*>(to), batch_, op.patches, slope(op.input),
                             op.adds_to_input, queue_);
}

template <class T>
void Network<T>::norm_backward(const Op& op)
{
  const Buffer& shape = program_.buffers[op.input];
  const std::size_t rows = batch_ * shape.rows;
  const T* from = slope(op.output);
  kernels::layer_norm_gradient(static_cast<const T*>(value(op.input)), from, rows, shape.width,
                               master(op.weight), moments_[index_of(op)].data(), slope(op.input),
                               op.adds_to_input, products_.data(), queue_);
  kernels::sum_columns<float>(products_.data(), rows, shape.width, gradient(op.weight),
                              sums_.data(), queue_);
  kernels::sum_columns(from, rows, shape.width, gradient(op.bias), sums_.data(), queue_);
}

template <class T>
void Network<T>::attention_forward(const Op& op)
{
  const std::size_t rows = program_.buffers[op.input].rows;
  const std::size_t width = program_.buffers[op.output].width;
  const auto heads = static_cast<std::size_t>(op.heads);
  const std::size_t size = width / heads;
  const std::size_t all = rows * 3 * width; // queries, keys and values of one sample
  T* probabilities = probabilities_[index_of(op)].data();
  for (std::size_t h = 0; h < heads; ++h) {
    const T* query = value(op.input) + h * size;
    blas_.multiply<T, T>({rows, rows, size, batch_}, {query, 3 * width, false, all},
                         {query + width, 3 * width, true, all},
                         {probabilities + h * rows * rows, rows, false, heads * rows * rows});
  }
  kernels::softmax_rows(probabilities, batch_ * heads * rows, rows,
                        1.0F / std::sqrt(static_cast<float>(size)), queue_);
  for (std::size_t h = 0; h < heads; ++h)
    blas_.multiply<T, T>({rows, size, rows, batch_},
                         {probabilities + h * rows * rows, rows, false, heads * rows * rows},
                         {value(op.input) + h * size + 2 * width, 3 * width, false, all},
                         {value(op.output) + h * size, width, false, rows * width});
}

template <class T>
void Network<T>::attention_backward(const Op& op)
{
  const std::size_t rows = program_.buffers[op.input].rows;
  const std::size_t width = program_.buffers[op.output].width;
  const auto heads = static_cast<std::size_t>(op.heads);
  const std::size_t size = width / heads;
  const std::size_t all = rows * 3 * width;
  const std::size_t square = heads * rows * rows; // scores of one sample
  const bool add = op.adds_to_input;
  const T* probabilities = probabilities_[index_of(op)].data();
  for (std::size_t h = 0; h < heads; ++h) {
    const Operand<T> from{slope(op.output) + h * size, width, false, rows * width};
    const T* head = probabilities + h * rows * rows;
    blas_.multiply<T, T>({rows, size, rows, batch_}, {head, rows, true, square}, from,
                         {slope(op.input) + h * size + 2 * width, 3 * width, add, all});
    blas_.multiply<T, T>({rows, rows, size, batch_}, from,
                         {value(op.input) + h * size + 2 * width, 3 * width, true, all},
                         {scores_.data() + h * rows * rows, rows, false, square});
  }
  kernels::softmax_rows_gradient(probabilities, scores_.data(), batch_ * heads * rows, rows,
                                 1.0F / std::sqrt(static_cast<float>(size)), queue_);
  for (std::size_t h = 0; h < heads; ++h) {
    const T* head = scores_.data() + h * rows * rows;
    const T* query = value(op.input) + h * size;
    T* to = slope(op.input) + h * size;
    blas_.multiply<T, T>({rows, size, rows, batch_}, {head, rows, false, square},
                         {query + width, 3 * width, false, all}, {to, 3 * width, add, all});
    blas_.multiply<T, T>({rows, size, rows, batch_}, {head, rows, true, square},
                         {query, 3 * width, false, all}, {to + width, 3 * width, add, all});
  }
}

} // namespace

std::unique_ptr<DeviceNetwork> make_network(const Program& program, const std::string& precision,
                                            int batch, int seed, const Stream& stream)
{
  if (precision == "fp16")
    return std::make_unique<Network<__half>>(program, false, batch, seed, stream);
  if (precision == "bf16")
    return std::make_unique<Network<__nv_bfloat16>>(program, false, batch, seed, stream);
  return std::make_unique<Network<float>>(program, precision == "tf32", batch, seed, stream);
}

} // namespace foretrain::realrun
