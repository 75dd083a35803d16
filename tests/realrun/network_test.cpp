#include "realrun/common/input.hpp"
#include "realrun/common/model.hpp"
#include "realrun/cpu/network.hpp"

#include <catch2/catch.hpp>

#include <cmath>

using namespace foretrain::realrun;

namespace {

Program small(const std::string& kind)
{
  Model model;
  model.name = kind;
  model.kind = kind;
  model.image = 8;
  model.classes = 3;
  model.width = 8;
  model.depth = 2;
  model.stages = 2;
  model.patch = 4;
  model.heads = 2;
  return build_program(model);
}

struct Samples {
  std::vector<float> pixels;
  std::vector<int> labels;
};

Samples samples(const Program& program, int batch, std::size_t step)
{
  const InputShape shape{batch, program.image, program.channels, program.classes};
  Samples s{std::vector<float>(shape.batch_size()), {}};
  fill_batch(shape, 1, step, 0, 1, s.pixels.data(), s.labels);
  return s;
}

} // namespace

TEST_CASE("every gradient equals the finite difference of the loss")
{
  const std::string kind = GENERATE("mlp", "convnet", "transformer");
  const Program program = small(kind);
  constexpr int batch = 4;
  Network<double> network(program, batch, 5);
  const Samples s = samples(program, batch, 0);
  // Biases of zero put ReLU inputs of empty patches exactly on the kink: move everything a little.
  for (std::size_t i = 0; i < network.parameters().size(); ++i)
    network.parameters()[i] += 0.01 * std::sin(static_cast<double>(i));
  const auto loss = [&] {
    return network.forward(s.pixels.data(), s.labels.data(), batch) / batch;
  };
  loss();
  network.backward([](std::size_t) {});
  const std::vector<double> gradient(network.gradients().begin(), network.gradients().end());
  for (const Parameter& parameter : program.parameters)
    for (std::size_t i = 0; i < parameter.size(); i += 1 + parameter.size() / 7) {
      double& value = network.parameters()[parameter.offset + i];
      const double before = value;
      constexpr double step = 1e-6;
      value = before + step;
      const double above = loss();
      value = before - step;
      const double below = loss();
      value = before;
      CAPTURE(kind, parameter.name, i);
      CHECK(gradient[parameter.offset + i] ==
            Approx((above - below) / (2 * step)).epsilon(1e-4).margin(1e-7));
    }
}

TEST_CASE("backward reports every operation once, last one first")
{
  const Program program = small("transformer");
  Network<float> network(program, 2, 1);
  const Samples s = samples(program, 2, 0);
  network.forward(s.pixels.data(), s.labels.data(), 2);
  std::size_t expected = program.ops.size();
  network.backward([&](std::size_t op) { CHECK(op == --expected); });
  CHECK(expected == 0);
}

TEST_CASE("training makes the loss fall")
{
  const std::string kind = GENERATE("mlp", "convnet", "transformer");
  const Program program = small(kind);
  constexpr int batch = 16;
  Network<float> network(program, batch, 1);
  double first = 0.0;
  double last = 0.0;
  for (std::size_t step = 0; step < 60; ++step) {
    const Samples s = samples(program, batch, step); // never the same sample twice
    const double loss = network.forward(s.pixels.data(), s.labels.data(), batch) / batch;
    (step < 5 ? first : last) += step < 5 || step >= 55 ? loss / 5 : 0.0;
    network.backward([](std::size_t) {});
    network.update(0.05, 0.9);
  }
  CAPTURE(kind);
  CHECK(first > 0.5);
  CHECK(last < 0.6 * first);
}
