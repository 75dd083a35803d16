// Costs of optimizers against their closed forms.
#include "models/training/optimizer.hpp"

#include "models/training/compute_profile.hpp"
#include "tests/support/catch.hpp"

namespace foretrain::optimizer_test {

using namespace foretrain::models;

namespace {

constexpr double kParameters = 1e8;
constexpr double kTensors = 200;

sim::Roofline device()
{
  sim::Roofline roofline;
  roofline.peak = FlopsPerSecond(1e13);
  roofline.memory = BytesPerSecond(5e11);
  roofline.launch = Seconds(4e-6);
  return roofline;
}

Optimizer preset(const char* name)
{
  return read_as<Optimizer>(resolve_preset(std::string(name), kOptimizerKind));
}

} // namespace

TEST_CASE("A fused update takes its traffic and its launches", "[optimizer]")
{
  const Optimizer sgd = preset("sgd-momentum");
  const auto cost = optimizer_cost(sgd, OptimizerStyle::fused, kParameters, kTensors, 0, device());
  CHECK(cost.kernels.value() == Approx(4e-6 + 20 * kParameters / 5e11));
  CHECK(cost.passes.value() == 0);
  const auto half = optimizer_cost(sgd, OptimizerStyle::fused, kParameters, kTensors, 2, device());
  CHECK(half.kernels.value() == Approx(4e-6 + 22 * kParameters / 5e11));
}

TEST_CASE("What a graph launches tensor by tensor is told, and hidden on one GPU", "[optimizer]")
{
  const Optimizer adamw = preset("adamw");
  const auto cost =
      optimizer_cost(adamw, OptimizerStyle::graph, kParameters, kTensors, 0, device());
  CHECK(cost.launches == Approx(6 * kTensors));
  CHECK(cost.host.value() == 0);
  CHECK(optimizer_cost(preset("sgd-momentum"), OptimizerStyle::graph, kParameters, kTensors, 0,
                       device())
            .launches == Approx(kTensors));
}

TEST_CASE("What Python launches tensor by tensor costs host time and passes on top", "[optimizer]")
{
  const Optimizer adamw = preset("adamw");
  const auto fused =
      optimizer_cost(adamw, OptimizerStyle::fused, kParameters, kTensors, 0, device());
  const auto looped =
      optimizer_cost(adamw, OptimizerStyle::per_tensor, kParameters, kTensors, 0, device());
  CHECK(fused.host.value() == 0);
  const OptimizerForm& form = *adamw.per_tensor;
  CHECK(fused.passes.value() == 0);
  CHECK(looped.kernels == fused.kernels);
  CHECK(looped.host.value() == Approx(kTensors * form.host_per_tensor.value()));
  CHECK(looped.passes.value() ==
        Approx((form.bytes_per_parameter - adamw.fused.bytes_per_parameter) * kParameters / 5e11));
  CHECK(looped.host >
        optimizer_cost(adamw, OptimizerStyle::foreach_, kParameters, kTensors, 0, device()).host);
}

TEST_CASE("An optimizer that says how it runs does not ask the framework", "[optimizer]")
{
  const Optimizer loop = preset("adamw-transformers");
  CHECK(&form_of(loop, OptimizerStyle::fused) == &*loop.per_tensor);
  const Optimizer sgd = preset("sgd");
  CHECK(&form_of(sgd, OptimizerStyle::per_tensor) == &sgd.fused); // it has no such form
}

TEST_CASE("Kernels beside a collective: fewer multiprocessors, factors by class, an addition",
          "[optimizer]")
{
  ComputeProfile profile;
  LayerTime product;
  product.backward = Seconds(1e-3);
  product.product = true;
  product.backward_kernels = 2;
  LayerTime other;
  other.backward = Seconds(3e-3);
  profile.layers = {product, other};
  CHECK(slowed_beside_collective(profile, 0, 1, 1, Seconds(0)) == Approx(1));
  CHECK(slowed_beside_collective(profile, 0.25, 1, 1, Seconds(0)) == Approx(4.0 / 3));
  CHECK(slowed_beside_collective(profile, 0, 1.2, 1.1, Seconds(1e-4)) ==
        Approx((1.2 + 3 * 1.1 + 3 * 0.1) / 4));
}

} // namespace foretrain::optimizer_test
