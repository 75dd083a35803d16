// The whole CUDA network against the CPU twin's: same model, same samples, same parameters.
#include "realrun/common/input.hpp"
#include "realrun/common/model.hpp"
#include "realrun/cpu/network.hpp"
#include "realrun/cuda/network.hpp"
#include "tests/realrun/device_vector.hpp"

#include <catch2/catch.hpp>

using namespace foretrain::realrun;

namespace {

Program small(const std::string& kind)
{
  Model model;
  model.name = kind;
  model.kind = kind;
  model.image = 8;
  model.classes = 5;
  model.width = 8;
  model.depth = 2;
  model.stages = 2;
  model.patch = 4;
  model.heads = 2;
  return build_program(model);
}

template <class T>
std::vector<T> fetch(const T* from, std::size_t count)
{
  std::vector<T> values(count);
  REALRUN_CHECK(cudaDeviceSynchronize());
  REALRUN_CHECK(cudaMemcpy(values.data(), from, count * sizeof(T), cudaMemcpyDeviceToHost));
  return values;
}

double distance(std::span<const float> found, std::span<const float> expected)
{
  double difference = 0.0;
  double size = 0.0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double d = static_cast<double>(found[i]) - static_cast<double>(expected[i]);
    difference += d * d;
    size += static_cast<double>(expected[i]) * static_cast<double>(expected[i]);
  }
  return std::sqrt(difference / size);
}

} // namespace

TEST_CASE("losses and gradients equal the CPU twin's, step after step")
{
  const std::string kind = GENERATE("mlp", "convnet", "transformer");
  const std::string precision = GENERATE("fp32", "fp16", "bf16");
  // bf16 keeps 8 bits: single units change sides of their ReLU. A wrong gradient differs by
  // about 1.
  const double tolerance = precision == "fp32" ? 1e-4 : precision == "fp16" ? 1e-2 : 1.5e-1;
  // Later steps start from other parameters: only fp32 stays close enough to compare.
  const std::size_t steps = precision == "fp32" ? 3 : 1;
  const Program program = small(kind);
  constexpr int batch = 3;
  const InputShape shape{batch, program.image, program.channels, program.classes};
  Network<float> twin(program, batch, 3);
  const Stream stream;
  const auto network = make_network(program, precision, batch, 3, stream);
  const DeviceBuffer<float> pixels(shape.batch_size());
  const DeviceBuffer<int> labels(batch);
  std::vector<float> host(shape.batch_size());
  std::vector<int> host_labels;
  for (std::size_t step = 0; step < steps; ++step) {
    fill_batch(shape, 1, step, 0, 1, host.data(), host_labels);
    REALRUN_CHECK(cudaMemcpy(pixels.data(), host.data(), host.size() * sizeof(float),
                             cudaMemcpyHostToDevice));
    REALRUN_CHECK(
        cudaMemcpy(labels.data(), host_labels.data(), batch * sizeof(int), cudaMemcpyHostToDevice));
    REALRUN_CHECK(cudaDeviceSynchronize());
    const double loss = twin.forward(host.data(), host_labels.data(), batch);
    twin.backward([](std::size_t) {});
    std::size_t expected_op = program.ops.size();
    network->forward(pixels.data(), labels.data(), batch);
    network->backward([&](std::size_t op) { CHECK(op == --expected_op); });
    double device_loss = 0.0;
    for (const float l : fetch(network->losses(), batch))
      device_loss += static_cast<double>(l);
    std::vector<float> gradients = fetch(network->gradients(), program.parameter_count);
    for (float& g : gradients)
      g /= network->loss_scale();
    CAPTURE(kind, precision, step);
    CHECK(device_loss == Approx(loss).epsilon(tolerance));
    CHECK(distance(gradients, twin.gradients()) < tolerance);
    CHECK(network->forward_times().total() > 0.0);
    twin.update(0.01, 0.9);
    network->update(0.01, 0.9);
  }
}
