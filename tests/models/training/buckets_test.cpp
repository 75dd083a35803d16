#include "models/training/buckets.hpp"

#include "tests/support/catch.hpp"

namespace foretrain::buckets_test {

using namespace foretrain::models;

namespace {

// Layers with a tensor of 1000 gradients each, a millisecond forward and a millisecond backward,
// or half a cycle.
std::vector<Bucket> buckets(int layers, const Framework& framework)
{
  Network network;
  ComputeProfile profile;
  const Seconds layer = framework.fusion_cycle.value() > 0 ? 0.5 * framework.fusion_cycle : 1.0_ms;
  for (int i = 0; i < layers; ++i) {
    network.layers.emplace_back();
    network.layers.back().gradient_tensors = {1000};
    profile.layers.push_back({layer, layer});
  }
  return plan_buckets(network, profile, framework, 4);
}

std::vector<double> sizes(int layers, const Framework& framework)
{
  std::vector<double> tensors;
  double bytes = 0;
  for (const Bucket& bucket : buckets(layers, framework)) {
    tensors.push_back(bucket.tensors);
    bytes += bucket.size.value();
  }
  CHECK(bytes == 4000.0 * layers);
  return tensors;
}

Framework fixed(double threshold)
{
  Framework framework;
  framework.bucket_order = BucketOrder::fixed;
  framework.fusion_threshold = Bytes(threshold);
  return framework;
}

// Kernels are launched in 5 us each, `share` of a layer's time; cycles take two layers.
Framework ahead(double share, double threshold)
{
  Framework framework;
  framework.handed_over = HandedOver::launched;
  framework.launch_interval = Seconds(5e-6);
  framework.fusion_cycle = Seconds(2 * 5e-6 / share);
  framework.fusion_threshold = Bytes(threshold);
  return framework;
}

using Sizes = std::vector<double>;

} // namespace

TEST_CASE("buckets take what fits, or close once they hold enough", "[buckets]")
{
  Framework framework = fixed(10000);
  CHECK(sizes(7, framework) == Sizes{2, 2, 2, 1});
  framework.fusion_threshold = Bytes(8000); // fits exactly
  CHECK(sizes(7, framework) == Sizes{2, 2, 2, 1});
  framework.fusion_threshold = Bytes(10000);
  framework.bucket_fill = BucketFill::at_least;
  CHECK(sizes(7, framework) == Sizes{3, 3, 1});
}

TEST_CASE("the first bucket has a limit of its own", "[buckets]")
{
  Framework framework = fixed(12000);
  framework.first_bucket = Bytes(4000);
  CHECK(sizes(7, framework) == Sizes{1, 3, 3});
}

TEST_CASE("a cycle takes what is ready, counted from the beginning of the step", "[buckets]")
{
  Framework framework;
  framework.fusion_cycle = 2.0_ms;
  // Seven milliseconds of forward: gradients are there from 8 to 14 ms, cycles at 8, 10, 12, 14.
  CHECK(sizes(7, framework) == Sizes{1, 2, 2, 2});
}

TEST_CASE("without fusion every tensor goes by itself", "[buckets]")
{
  CHECK(sizes(3, fixed(0)) == Sizes{1, 1, 1});
  Framework framework = fixed(1e9);
  framework.overlap = Overlap::per_tensor;
  CHECK(sizes(3, framework) == Sizes{1, 1, 1});
}

TEST_CASE("a cycle takes what is launched, and the next one what was while data was waited for",
          "[buckets]")
{
  // Gradients are launched from 0.8 to 1.4 times a layer's time: the cycle at 2 meets them all.
  CHECK(sizes(7, ahead(0.1, 1e9)) == Sizes{7});
  CHECK(sizes(7, ahead(0.1, 12000)) == Sizes{3, 3, 1});
  CHECK(sizes(7, ahead(0.1, 0)) == Sizes{1, 1, 1, 1, 1, 1, 1});
  // From 2 to 3.5: the cycle at 2 meets one, the next is after the GPU has computed it.
  CHECK(sizes(7, ahead(0.25, 1e9)) == Sizes{1, 6});
  const std::vector<Bucket> three = buckets(7, ahead(0.25, 12000));
  REQUIRE(three.size() == 3);
  CHECK_FALSE(three[0].agreed_with_previous);
  CHECK_FALSE(three[1].agreed_with_previous);
  CHECK(three[2].agreed_with_previous);
  CHECK_THAT(three[0].launched.value(), test::is(40e-6));
  CHECK_THAT(three[1].launched.value(), test::is(55e-6));
  CHECK_THAT(three[1].ready.value(), test::is(80e-6));
  // A host that is no faster than the GPU is not ahead of it.
  Framework computed = ahead(10, 1e9);
  computed.fusion_cycle = Seconds(0x1p-20); // layers end at cycles, exactly
  CHECK(sizes(7, computed) == Sizes{1, 2, 2, 2});
  computed.handed_over = HandedOver::computed;
  CHECK(sizes(7, computed) == Sizes{1, 2, 2, 2});
}

TEST_CASE("groups hold equally many tensors, whatever their size", "[buckets]")
{
  Framework framework;
  framework.fusion_threshold = Bytes(1);
  framework.fusion_cycle = 2.0_ms;
  framework.gradient_groups = 3;
  CHECK(sizes(9, framework) == Sizes{3, 3, 3});
  CHECK(sizes(8, framework) == Sizes{2, 3, 3}); // the first parameters' groups have one more
  CHECK(sizes(2, framework) == Sizes{1, 1});
  framework.gradient_groups = 1;
  CHECK(sizes(9, framework) == Sizes{9});
  // A group leaves when its last gradient exists.
  framework.gradient_groups = 2;
  const std::vector<Bucket> halves = buckets(8, framework);
  REQUIRE(halves.size() == 2);
  CHECK(halves[0].ready == 4.0_ms);
  CHECK(halves[1].ready == 8.0_ms);
}

} // namespace foretrain::buckets_test
