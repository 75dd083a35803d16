#include "models/training/layer_passes.hpp"

#include "tests/models/network_support.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace foretrain::layer_passes_test {

using namespace foretrain::models;

namespace {

constexpr const char* kInput = R"("channels": 8, "height": 16, "width": 16)";

// Reads and writes forward of the first batch normalisation.
std::pair<double, double> forward(const char* layers, BatchNorm batch_norm)
{
  const Network built = test::network_of(kInput, layers);
  const auto norm = std::find_if(built.layers.begin(), built.layers.end(),
                                 [](const Layer& layer) { return layer.kind == LayerKind::norm; });
  REQUIRE(norm != built.layers.end());
  KernelSpec kernels;
  kernels.batch_norm = batch_norm;
  const auto index = static_cast<std::size_t>(norm - built.layers.begin());
  const Passes passes = passes_of(built, index, kernels);
  CHECK(passes.backward_in == 3);
  CHECK(passes.backward_out == 2);
  CHECK(passes.forward() == (passes.forward_out > 0));
  return {passes.forward_in, passes.forward_out};
}

using Forward = std::pair<double, double>;
constexpr const char* kBetween =
    R"({"op": "conv", "out": 8, "kernel": 3}, "batch_norm", "relu", {"op": "conv", "out": 8, "kernel": 1})";

} // namespace

TEST_CASE("convolutions take over passes of the batch normalisation between them", "[passes]")
{
  CHECK(forward(kBetween, BatchNorm::alone) == Forward{2, 1});
  CHECK(forward(kBetween, BatchNorm::sums_in_convolution) == Forward{1, 1});
  CHECK(forward(kBetween, BatchNorm::in_convolutions) == Forward{0, 0});
}

TEST_CASE("a softmax over more words than caches hold reads its scores three times", "[passes]")
{
  const auto softmax_of = [](int words, const char* between) {
    const Network network =
        test::network_of(R"("features": 4)", R"({"op": "linear", "out": )" + std::to_string(words) +
                                                 "}, " + between + R"("softmax")");
    const Passes passes = passes_of(network, network.layers.size() - 1, KernelSpec{});
    return std::array{passes.forward_in, passes.forward_out, passes.backward_in,
                      passes.backward_out};
  };
  CHECK(softmax_of(262'145, "") == std::array{3.0, 1.0, 1.0, 4.0});
  CHECK(softmax_of(262'144, "") == std::array{1.0, 1.0, 1.0, 2.0});
  CHECK(softmax_of(262'145, R"("tanh", )") == std::array{1.0, 1.0, 1.0, 2.0}); // no scores of words
}

TEST_CASE("what no convolution writes is read for its statistics", "[passes]")
{
  for (const char* first : {R"("batch_norm", {"op": "conv", "out": 8, "kernel": 1})",
                            R"({"op": "max_pool", "kernel": 2, "stride": 2}, "batch_norm")",
                            R"({"op": "conv", "out": 8, "kernel": 1}, "relu", "batch_norm")"})
    for (const BatchNorm kind : {BatchNorm::sums_in_convolution, BatchNorm::in_convolutions})
      CHECK(forward(first, kind) == Forward{2, 1});
}

TEST_CASE("what no convolution reads is normalised by a kernel of its own", "[passes]")
{
  for (
      const char* layers :
      {R"({"op": "conv", "out": 8, "kernel": 1}, "batch_norm")",
       R"({"op": "conv", "out": 8, "kernel": 1}, "batch_norm", "relu")",
       R"({"op": "conv", "out": 8, "kernel": 1}, "batch_norm", {"op": "max_pool", "kernel": 2, "stride": 2})",
       R"({"op": "residual", "main": [{"op": "conv", "out": 8, "kernel": 1}, "batch_norm"]}, "relu",
           {"op": "conv", "out": 8, "kernel": 1})",
       // The shortcut's convolution comes next in the list, but reads the block's input.
       R"({"op": "residual", "main": [{"op": "conv", "out": 16, "kernel": 1}, "batch_norm"],
            "shortcut": [{"op": "conv", "out": 16, "kernel": 1}]})"})
    CHECK(forward(layers, BatchNorm::in_convolutions) == Forward{1, 1});
}

TEST_CASE("other normalisations pass over their input as they do", "[passes]")
{
  CHECK(forward(R"({"op": "conv", "out": 8, "kernel": 1}, "group_norm",
                   {"op": "conv", "out": 8, "kernel": 1})",
                BatchNorm::in_convolutions) == Forward{2, 1});
}

TEST_CASE("a gradient is added to another by a kernel that reads both, or read on the way",
          "[passes]")
{
  CHECK(added_gradients(0, false).kernels == 0);
  CHECK(added_gradients(2, false).kernels == 2);
  CHECK(added_gradients(2, false).passes == 2 * 3);
  CHECK(added_gradients(2, true).kernels == 0);
  CHECK(added_gradients(2, true).passes == 2);
}

TEST_CASE("chains of element-wise layers ride along with what is bound by memory or a convolution",
          "[passes]")
{
  // Layers that cost something by themselves, by their place.
  const auto apart = [](const char* input, const std::string& layers, bool in_products = false) {
    const Network network = test::network_of(input, layers);
    KernelSpec kernels;
    kernels.activations_in_products = in_products;
    std::string found;
    for (std::size_t i = 0; i < network.layers.size(); ++i)
      if (network.layers[i].kind == LayerKind::elementwise && !rides_along(network, i, kernels))
        found += std::to_string(i);
    return found;
  };
  const std::string linear = R"({"op": "linear", "out": 8})";
  const char* const words = R"("features": 8)";
  CHECK(apart(words, linear + R"(, "gelu", "dropout", )" + linear).compare("1") == 0);
  CHECK(apart(words, linear + R"(, "dropout", "layer_norm", )" + linear).empty());
  CHECK(apart(words, linear + R"(, "layer_norm", "gelu", )" + linear).empty());
  CHECK(apart(words, linear + R"(, "tanh", "softmax", "dropout", )" + linear).compare("2") == 0);
  CHECK(apart(words, linear + R"(, "tanh", "softmax")").compare("2") == 0); // behind the last
  CHECK(apart(words, R"("relu", )" + linear).empty());
  CHECK(apart(words, linear + R"(, "relu", )" + linear, true).empty());
  // Six layers of embedding, projections, regrouping and scores come before scale and mask.
  const std::string attention = R"({"op": "embedding", "vocab": 9, "hidden": 8},
                                   {"op": "attention", "heads": 2})";
  CHECK(apart(R"("tokens": 4)", attention).compare("7") == 0); // softmax
  CHECK(apart(kInput, kBetween).empty());
  CHECK(apart(kInput, R"({"op": "conv", "out": 8, "kernel": 3}, "relu", "flatten", )" + linear)
            .empty());
}

} // namespace foretrain::layer_passes_test
