// What must hold for any network: repeat is copying, concatenation has no order, width is
// quadratic; and the tables that `foretrain model` prints.
#include "tests/models/network_support.hpp"

#include "models/networks/network_ops.hpp"
#include "models/networks/network_table.hpp"

#include <catch2/catch.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>

namespace foretrain::network_properties_test {

using namespace foretrain::models;
using test::kImage;
using test::network_of;

namespace {

void check_same(const NetworkTotals& a, const NetworkTotals& b)
{
  CHECK(a.parameters == b.parameters);
  CHECK(a.gradient_tensors == b.gradient_tensors);
  CHECK(a.macs == b.macs);
  CHECK(a.forward_flops == b.forward_flops);
  CHECK(a.activation_elements == b.activation_elements);
  CHECK(a.state_elements == b.state_elements);
}

const char* const kBodies[] = {
    R"({"op": "conv", "out": 16, "kernel": 3, "then": ["batch_norm", "relu"]})",
    R"({"op": "conv", "out": 7, "kernel": 1}, {"op": "residual", "main": ["batch_norm", {"op": "dropout"}]})",
    R"({"op": "dense_block", "times": 2, "body": [{"op": "conv", "out": 3, "kernel": [1, 3]}]})",
    R"({"op": "branches", "paths": [["relu"], [{"op": "conv", "out": 2, "kernel": 3}, "lrn"], []]})",
};

} // namespace

TEST_CASE("repeat N is N copies written out", "[models][network][property]")
{
  const std::string body = GENERATE(from_range(std::begin(kBodies), std::end(kBodies)));
  const int times = GENERATE(1, 2, 5);
  CAPTURE(body, times);
  std::string copies = body;
  for (int i = 1; i < times; ++i)
    copies += ", " + body;
  const Network repeated = network_of(
      kImage, fmt::format(R"({{"op": "repeat", "times": {}, "body": [{}]}})", times, body));
  const Network written = network_of(kImage, copies);
  check_same(totals(repeated), totals(written));
  REQUIRE(repeated.layers.size() == written.layers.size());
  for (std::size_t i = 0; i < written.layers.size(); ++i) {
    CHECK(repeated.layers[i].name == written.layers[i].name);
    CHECK(repeated.layers[i].output == written.layers[i].output);
  }
}

TEST_CASE("the order of branches does not change the totals", "[models][network][property]")
{
  std::vector<std::string> paths{
      R"([{"op": "conv", "out": 5, "kernel": 1}])", "[]",
      R"(["relu", {"op": "conv", "out": 9, "kernel": 3}])",
      R"([{"op": "max_pool", "kernel": 3, "stride": 1, "padding": "same"}])"};
  std::sort(paths.begin(), paths.end());
  const auto sum_of = [&] {
    return totals(network_of(
        kImage, fmt::format(R"({{"op": "branches", "paths": [{}, {}, {}, {}]}}, "batch_norm")",
                            paths[0], paths[1], paths[2], paths[3])));
  };
  const NetworkTotals first = sum_of();
  CHECK(first.parameters > 0);
  while (std::next_permutation(paths.begin(), paths.end()))
    check_same(first, sum_of());
}

TEST_CASE("twice the width is four times the weights of inner layers and twice the vectors",
          "[models][network][property]")
{
  const auto sum_of = [](int width) {
    return totals(network_of(
        fmt::format(R"("channels": {}, "height": 9, "width": 9)", width),
        fmt::format(
            R"({{"op": "conv", "out": {0}, "kernel": 3, "bias": false, "then": ["batch_norm"]}},
                       {{"op": "conv", "out": {0}, "kernel": 1, "bias": false}}, "global_avg_pool",
                       {{"op": "linear", "out": {0}}})",
            width)));
  };
  const int width = GENERATE(1, 8, 50);
  CAPTURE(width);
  const std::int64_t vectors = 3 * width; // gamma, beta, bias
  const std::int64_t weights = sum_of(width).parameters - vectors;
  CHECK(weights == 11 * width * width);
  CHECK(sum_of(2 * width).parameters == 4 * weights + 2 * vectors);
  CHECK(sum_of(2 * width).macs == 4 * sum_of(width).macs);
}

TEST_CASE("twice the image side is four times the work and the same parameters",
          "[models][network][property]")
{
  const auto sum_of = [](int side) {
    return totals(network_of(
        fmt::format(R"("channels": 3, "height": {0}, "width": {0})", side),
        R"({"op": "conv", "out": 8, "kernel": 3, "stride": 2, "then": ["batch_norm", "relu"]},
                                {"op": "max_pool", "kernel": 2}, {"op": "conv", "out": 8, "kernel": 3})"));
  };
  CHECK(sum_of(64).parameters == sum_of(32).parameters);
  CHECK(sum_of(64).macs == 4 * sum_of(32).macs);
  CHECK(sum_of(64).forward_flops == 4.0 * sum_of(32).forward_flops);
  CHECK(sum_of(64).activation_elements == 4 * sum_of(32).activation_elements);
}

TEST_CASE("every layer of every preset is consistent", "[models][network][property]")
{
  for (const std::string& name : preset_names(kNetworkKind)) {
    const Value preset = resolve_preset(name, kNetworkKind);
    if (preset.json().contains("transformer"))
      continue; // tests/models/transformer
    const Network network = load_network(preset);
    std::set<std::string> names;
    for (const Layer& layer : network.layers) {
      CAPTURE(name, layer.name);
      CHECK(names.insert(layer.name).second);
      if (layer.op == "linear" && layer.macs == 0) { // runs once a batch
        CHECK(layer.input_elements + layer.output_elements == 0);
      } else {
        CHECK(layer.output.elements() == layer.output_elements);
        CHECK(layer.input_elements > 0);
      }
      CHECK(layer.gemm.macs() == layer.macs);
      std::int64_t trained = 0;
      for (const std::int64_t elements : layer.gradient_tensors)
        trained += elements;
      CHECK(trained == layer.parameters);
      CHECK(layer.forward_flops.value() >= 2 * layer.macs);
    }
  }
}

TEST_CASE("layers are numbered or named, and no two share a name", "[models][network]")
{
  const Network network = network_of(kImage, R"(
    "relu", {"op": "relu", "name": "relu1"}, {"op": "relu", "name": "out"}, {"op": "relu", "name": "out"},
    {"op": "repeat", "name": "tail", "times": 2, "body": ["relu", "relu"]})");
  std::vector<std::string> names;
  for (const Layer& layer : network.layers)
    names.push_back(layer.name);
  CHECK(names == std::vector<std::string>{"relu1", "relu1_2", "out", "out_2", "tail.0.relu1",
                                          "tail.0.relu2", "tail.1.relu1", "tail.1.relu2"});
}

TEST_CASE("a name made unique does not take another's", "[models][network]")
{
  const Network network =
      network_of(kImage, R"({"op": "relu", "name": "a_2"}, {"op": "relu", "name": "a"},
                                                {"op": "relu", "name": "a"}, {"op": "relu", "name": "a"})");
  CHECK(network.layers[2].name == "a_3");
  CHECK(network.layers[3].name == "a_4");
}

TEST_CASE("model show and model list print the totals", "[models][network]")
{
  const Network network = load_network("resnet50");
  const Json json = network_json(network);
  CHECK(json.at("totals").at("parameters") == 25559081);
  CHECK(json.at("totals").at("gradient_tensors") == 161);
  CHECK(json.at("layers").size() == network.layers.size());
  CHECK(json.at("layers").at(0).at("gemm").at("k") == 3 * 7 * 7);
  CHECK_THAT(network_text(network), Catch::Contains("classifier") &&
                                        Catch::Contains("3.858 GMAC") &&
                                        Catch::Contains("102.2 MB"));
  const auto names = preset_names(kNetworkKind);
  const auto layered = std::count_if(names.begin(), names.end(), [](const std::string& name) {
    return !resolve_preset(name, kNetworkKind).json().contains("transformer");
  });
  CHECK(network_list_json().size() == static_cast<std::size_t>(layered));
  CHECK_THAT(network_list_text(), Catch::Contains("bert-large") && Catch::Contains("336226108"));
}

TEST_CASE("the schema lists every op, and as a word those that need no key", "[models][network]")
{
  const Json schema = network_schema();
  const Json& forms = schema.at("$defs").at("layer").at("oneOf");
  std::set<std::string> ops;
  for (std::size_t i = 1; i < forms.size(); ++i)
    ops.insert(forms.at(i).at("properties").at("op").at("const").get<std::string>());
  CHECK(ops.contains("conv"));
  CHECK(ops.contains("attention"));
  CHECK(ops.size() == forms.size() - 1);
  const auto words = forms.at(0).at("enum").get<std::set<std::string>>();
  CHECK(words.contains("relu"));
  CHECK_FALSE(words.contains("conv"));
  CHECK(schema.at("properties").at("layers").at("items").at("$ref") == "#/$defs/layer");
}

TEST_CASE("docs/networks.md names every op, and its example loads", "[models][network]")
{
  std::ifstream in(data_root() / "docs/networks.md");
  const std::string page((std::istreambuf_iterator<char>(in)), {});
  for (const Op* op : all_ops()) {
    CAPTURE(op->name);
    CHECK_THAT(page, Catch::Contains(fmt::format("`{}`", op->name)));
  }
  const std::size_t from = page.find("```json\n") + 8;
  const Network example = network_of(page.substr(from, page.find("```", from) - from));
  CHECK(example.layers.back().name == "classifier");
}

} // namespace foretrain::network_properties_test
