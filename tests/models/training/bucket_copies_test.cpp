#include "models/training/bucket_copies.hpp"

#include "tests/support/catch.hpp"

namespace foretrain::bucket_copies_test {

using namespace foretrain::models;

namespace {

// A layer with two gradients, one without any, a frozen one.
Network three_layers()
{
  Network network;
  network.layers.resize(3);
  network.layers[0].gradient_tensors = {1000, 10};
  network.layers[2].gradient_tensors = {500};
  network.layers[2].trained = false;
  return network;
}

ComputeProfile milliseconds(std::size_t layers)
{
  ComputeProfile profile;
  for (std::size_t i = 0; i < layers; ++i)
    profile.layers.push_back({1.0_ms, 2.0_ms});
  profile.optimizer = 3.0_ms;
  return profile;
}

sim::Roofline memory()
{
  sim::Roofline rate;
  rate.peak = FlopsPerSecond(1e12);
  rate.memory = BytesPerSecond(1e9);
  rate.launch = Seconds(2e-6);
  return rate;
}

} // namespace

TEST_CASE("A gradient is copied into its bucket and back by a kernel each",
          "[buckets][closed-form]")
{
  const Network network = three_layers();
  const ComputeProfile plain = milliseconds(3);
  const ComputeProfile copying = with_bucket_copies(plain, network, 4, memory(), {});
  const double copies = 2 * 2e-6 + 2 * 4 * 1010 / 1e9; // launches; read and written
  CHECK_THAT((copying.layers[0].backward - plain.layers[0].backward).value(), test::is(copies));
  CHECK_THAT((copying.optimizer - plain.optimizer).value(), test::is(copies));
  CHECK(copying.layers[0].backward_kernels == plain.layers[0].backward_kernels + 2);
  CHECK(copying.forward() == plain.forward());
  for (const std::size_t untouched : {1U, 2U})
    CHECK(copying.layers[untouched].backward == plain.layers[untouched].backward);
  // Gradients in half precision have half the bytes.
  const ComputeProfile half = with_bucket_copies(plain, network, 2, memory(), {});
  CHECK_THAT((half.optimizer - plain.optimizer).value(), test::is(2 * 2e-6 + 2 * 2 * 1010 / 1e9));
}

TEST_CASE("The host launches the copies of gradients, too", "[buckets][closed-form]")
{
  HostLaunches host;
  host.per_operation = Seconds(1);
  host.per_kernel = 7.0_ms; // longer than any kernel here: a step takes what the host takes
  ComputeProfile plain = milliseconds(3);
  plain.layers[0].backward_host = 7.0_ms;
  const ComputeProfile copying = with_bucket_copies(plain, three_layers(), 4, memory(), host);
  CHECK_THAT(copying.host().value(), test::is(5 * 7e-3));
  CHECK_THAT(copying.total().value(), test::is(5 * 7e-3));
}

TEST_CASE("A recorded step has its copies", "[buckets]")
{
  Network network = three_layers();
  network.measured.emplace();
  CHECK(with_bucket_copies(milliseconds(3), network, 4, memory(), {}).total() ==
        milliseconds(3).total());
}

} // namespace foretrain::bucket_copies_test
