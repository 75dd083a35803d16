// Where the host is slower than the GPU that it launches for.
#include "models/training/layer_times.hpp"

#include "models/training/compute_profile.hpp"

#include "tests/models/network_support.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <random>

namespace foretrain::layer_times_test {

using namespace foretrain::models;

namespace {

// Kernels of two layers and the update, and host times that the tests set.
ComputeProfile two_layers()
{
  ComputeProfile profile;
  profile.layers = {{Seconds(1), Seconds(2)}, {Seconds(4), Seconds(1)}};
  profile.optimizer = Seconds(2);
  return profile;
}

ComputeProfile random_profile(std::mt19937& random)
{
  std::exponential_distribution<double> time(1e3);
  ComputeProfile profile;
  profile.layers.resize(1 + random() % 20);
  for (LayerTime& layer : profile.layers)
    layer = {.forward = Seconds(time(random)),
             .backward = Seconds(time(random)),
             .forward_host = Seconds(time(random)),
             .backward_host = Seconds(time(random))};
  profile.optimizer = Seconds(time(random));
  profile.optimizer_host = Seconds(time(random));
  return profile;
}

} // namespace

TEST_CASE("a host that needs less than the kernels is ahead of them", "[profile][closed-form]")
{
  ComputeProfile profile = two_layers();
  profile.layers[0].forward_host = Seconds(9); // for the first kernel alone: a step ahead
  const ComputeProfile ahead = behind_host(profile);
  CHECK(ahead.idle().value() == 0);
  CHECK_THAT(ahead.total().value(), test::is(10));
}

TEST_CASE("a GPU waits where it has caught up with its host", "[profile][closed-form]")
{
  // Launched at 3, 4, 8, 12, 13 of each step; kernels of 1, 4, 1, 2, 2. The update of the step
  // before ends at 16, three behind its host, when forward's first is launched: the GPU is done
  // with forward and the first of backward at 9, and waits until 12.
  ComputeProfile profile = two_layers();
  profile.layers[0].forward_host = Seconds(3);
  profile.layers[1].forward_host = Seconds(1);
  profile.layers[1].backward_host = Seconds(4);
  profile.layers[0].backward_host = Seconds(4);
  profile.optimizer_host = Seconds(1);
  const ComputeProfile behind = behind_host(profile);
  CHECK_THAT(behind.total().value(), test::is(13));
  CHECK_THAT(behind.layers[0].forward_idle.value(), test::is(0));
  CHECK_THAT(behind.layers[1].forward_idle.value(), test::is(0));
  CHECK_THAT(behind.layers[1].backward_idle.value(), test::is(0));
  CHECK_THAT(behind.layers[0].backward_idle.value(), test::is(3));
  CHECK_THAT(behind.optimizer_idle.value(), test::is(0));
  CHECK_THAT(behind.layers[0].backward.value(), test::is(5)); // with what it waits
}

TEST_CASE("recorded idle times stay where no host time is known", "[profile]")
{
  ComputeProfile profile = two_layers();
  profile.layers[0].forward_idle = Seconds(0.5);
  CHECK(behind_host(profile).idle().value() == 0.5);
  CHECK(profile.computed().value() == 9.5);
}

TEST_CASE("a step takes as long as the slower of host and kernels", "[profile][property]")
{
  std::mt19937 random(7);
  for (int i = 0; i < 300; ++i) {
    const ComputeProfile bare = random_profile(random);
    const double kernels = bare.total().value();
    const double host = bare.host().value();
    const ComputeProfile step = behind_host(bare);
    INFO(i);
    CHECK_THAT(step.total().value(), test::is(std::max(kernels, host)));
    CHECK_THAT((step.total() - step.idle()).value(), test::is(kernels));
    CHECK_THAT(behind_host(step).backward().value(), test::is(step.backward().value()));
    CHECK_THAT(step.scaled(2).total().value(), test::is(std::max(2 * kernels, host)));
    CHECK_THAT(step.hosted(2).total().value(), test::is(std::max(kernels, 2 * host)));
    for (const double factor : {0.3, 0.9, 1.0, 1.4, 5.0}) {
      const Lengthening by = lengthening_of(step, factor);
      CHECK_THAT(lengthened(step, by).total().value(), test::is(factor * step.total().value()));
      CHECK_THAT(kernels > host ? by.kernels : by.host, test::is(factor));
      CHECK((kernels > host ? by.host : by.kernels) <= 1);
    }
  }
}

TEST_CASE("what follows the exchange is as long as its host and its kernels are", "[profile]")
{
  ComputeProfile profile;
  profile.layers.push_back({Seconds(1), Seconds(2)});
  profile.behind = {Seconds(3), Seconds(5), Seconds(7)};
  const auto check = [](const ComputeProfile& found, double host, double passes, double launch) {
    CHECK_THAT(found.behind.host.value(), test::is(host));
    CHECK_THAT(found.behind.passes.value(), test::is(passes));
    CHECK_THAT(found.behind.launch.value(), test::is(launch));
  };
  check(profile.hosted(0.5), 1.5, 5, 3.5);
  check(profile.scaled(0.5), 3, 2.5, 7);
  check(lengthened(profile, {2, 3}), 3, 5, 7); // no rate of one GPU tells of it
}

TEST_CASE("host work is an operation each way and its kernels", "[profile][closed-form]")
{
  Network network;
  network.layers.assign(2, linear_layer(Shape::vector(10), 10, true, false));
  network.layers.front().input_gradient = false;
  network.layers.push_back(batch_norm_layer(Shape::vector(10), true));
  Device device;
  for (sim::Roofline* roofline : {&device.dense, &device.ordinary}) {
    roofline->peak = FlopsPerSecond(1e12);
    roofline->memory = BytesPerSecond(1e12);
  }
  const ComputeProfile none = compute_profile(network, 1, device);
  CHECK(none.host().value() == 0);
  CHECK(none.idle().value() == 0);

  device.launches = HostLaunches{Seconds(30e-6), Seconds(5e-6)};
  const ComputeProfile single = compute_profile(network, 1, device);
  CHECK_THAT(single.layers[0].forward_host.value(), test::is(35e-6));
  CHECK_THAT(single.layers[0].backward_host.value(), test::is(35e-6)); // no gradient of its input
  CHECK_THAT(single.layers[1].backward_host.value(), test::is(40e-6));
  CHECK_THAT(single.layers[2].backward_host.value(), test::is(35e-6));
  CHECK_THAT(single.optimizer_host.value(), test::is(single.optimizer_launches * 5e-6));
  CHECK_THAT(single.total().value(), test::is(single.host().value()));

  device.launches->casts_per_weight = 1; // weights and their gradients are converted
  device.launches->checks_per_gradient = 2;
  const ComputeProfile half = compute_profile(network, 1, device);
  CHECK_THAT(half.layers[1].forward_host.value(), test::is(40e-6));
  CHECK_THAT(half.layers[1].backward_host.value(), test::is(45e-6));
  CHECK_THAT(half.layers[2].forward_host.value(), test::is(35e-6)); // no product
  CHECK_THAT(half.optimizer_host.value(), test::is((half.optimizer_launches + 6 * 2) * 5e-6));

  network.layers[0].trained = false;
  CHECK(compute_profile(network, 1, device).layers[0].backward_host.value() == 0);

  network.layers.push_back(attention_scores_layer(Shape::sequence(4, 10), {2, 4, 4}));
  const ComputeProfile scores = compute_profile(network, 1, device);
  CHECK_THAT(scores.layers[3].forward_host.value(), test::is(35e-6)); // no weight
}

} // namespace foretrain::layer_times_test
