// Ends on the way, frozen and tied layers, regions, a second input, a memory: closed forms.
#include "tests/models/network_support.hpp"

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <stdexcept>

namespace foretrain::network_parts_test {

using namespace foretrain::models;
using Catch::Matchers::Contains;
using test::kImage;
using test::network_of;

namespace {

using Tensors = std::vector<std::int64_t>;

Layer named(const Network& network, const std::string& name)
{
  for (const Layer& layer : network.layers)
    if (layer.name == name)
      return layer;
  throw std::logic_error(name);
}

std::string problem_in(const std::string& input, const std::string& layers)
{
  return test::problem_of("{\"input\": {" + input + "}, \"layers\": [" + layers + "]}");
}

} // namespace

TEST_CASE("a network that was read before is read anew where its text or its file is another",
          "[models][network]")
{
  const auto read = [](const char* path, int out) {
    auto document = parse_document(
        fmt::format(R"({{"input": {{{}}}, "layers": [{{"op": "conv", "out": {}, "kernel": 1}}]}})",
                    kImage, out),
        path);
    document->path = path;
    return load_network(Value(DocumentPtr(document)));
  };
  for (const char* path : {"first.json", "second.json", "first.json"})
    for (int out = 1; out <= 12; ++out) { // more than are kept
      const Network network = read(path, out);
      CHECK(network.name + ".json" == path);
      CHECK(totals(network).macs == 600.0 * 16 * out);
      CHECK(totals(read(path, out)).macs == 600.0 * 16 * out);
    }
}

TEST_CASE("an end on the way leaves its input to what follows", "[models][network]")
{
  const Network network = network_of(kImage, R"(
    {"op": "side", "name": "end", "body": [{"op": "conv", "out": 3, "kernel": 1, "name": "boxes"},
                                           {"op": "heads", "paths": [["relu"]]}]},
    {"op": "conv", "out": 8, "kernel": 1, "name": "next"})");
  CHECK(named(network, "end.boxes").output == Shape::image(3, 20, 30));
  CHECK(named(network, "next").macs == 600 * 16 * 8);
}

TEST_CASE("a layer with nothing trained before it needs no gradient of its input",
          "[models][network]")
{
  const auto without = [](const Network& network) {
    std::vector<std::string> names;
    for (const Layer& layer : network.layers)
      if (!layer.input_gradient)
        names.push_back(layer.name);
    return names;
  };
  using Names = std::vector<std::string>;
  const std::string conv = R"({"op": "conv", "out": 16, "kernel": 1, "name": ")";
  const auto named_conv = [&](const char* name) { return conv + name + "\"}"; };
  const std::string a = named_conv("a"), b = named_conv("b"), c = named_conv("c");
  CHECK(without(network_of(kImage, "\"relu\", " + a + ", " + b)) == Names{"relu1", "a"});
  // Both ways through a block begin at the input, whichever is told first; what follows has one.
  CHECK(without(network_of(kImage, R"({"op": "residual", "main": [)" + a + ", " + b +
                                       R"(], "shortcut": [)" + c + "]}, " + named_conv("d"))) ==
        Names{"a", "c"});
  CHECK(without(network_of(kImage, R"({"op": "residual", "main": [)" + c + R"(], "shortcut": [)" +
                                       a + ", " + b + "]}, " + named_conv("d"))) ==
        Names{"c", "a"});
  CHECK(without(network_of(kImage, R"({"op": "residual", "main": [)" + a + "]}, " + b)) ==
        Names{"a"});
  CHECK(without(network_of(kImage, R"({"op": "branches", "paths": [["relu"], [)" + a + "], [" + b +
                                       "]]}, " + c)) == Names{"relu1", "a", "b"});
  CHECK(without(network_of(kImage, a + R"(, {"op": "branches", "paths": [[)" + b + "], [" + c +
                                       "]]}")) == Names{"a"});
  CHECK(without(network_of(kImage, R"({"op": "side", "body": [)" + a + "]}, " + b + ", " + c)) ==
        Names{"a", "b"});
  CHECK(without(network_of(kImage, R"({"op": "heads", "paths": [[)" + a + "], [" + b + ", " + c +
                                       "]]}")) == Names{"a", "b"});
  // Nested ways begin where their own block does.
  CHECK(without(network_of(
            kImage, R"({"op": "residual", "main": [)" + a + R"(, {"op": "branches", "paths": [[)" +
                        b + "], [" + c + R"(]]}], "shortcut": [)" +
                        R"({"op": "conv", "out": 32, "kernel": 1, "name": "d"})" + "]}")) ==
        Names{"a", "d"});
  // Vectors and embeddings are trained, too; frozen layers are not.
  CHECK(without(network_of(kImage, "\"batch_norm\", " + a)) == Names{"batch_norm1"});
  CHECK(without(network_of(R"("tokens": 8)",
                           R"({"op": "embedding", "vocab": 10, "hidden": 4},
                              {"op": "attention", "heads": 2})"))
            .size() == 1);
  CHECK(without(network_of(kImage, R"({"op": "frozen", "body": [)" + a + "]}, " + b + ", " + c)) ==
        Names{"a", "b"});
  // A second input begins anew, and leaves what flows as it is.
  CHECK(without(network_of(kImage, a + R"(, {"op": "condition", "features": 8, "name": "t",
      "layers": [{"op": "linear", "out": 8, "name": "x"}, {"op": "linear", "out": 8}]}, )" +
                                       b)) == Names{"a", "t.x"});
  CHECK(without(network_of(kImage, R"({"op": "condition", "features": 8, "name": "t",
      "layers": [{"op": "linear", "out": 8, "name": "x"}]}, )" +
                                       a + ", " + b)) == Names{"t.x", "a"});
}

TEST_CASE("frozen layers keep their weights as state and train none",
          "[models][network][closed-form]")
{
  const Network network = network_of(kImage, R"(
    {"op": "frozen", "body": [{"op": "conv", "out": 8, "kernel": 3, "then": ["batch_norm"]}]},
    {"op": "conv", "out": 4, "kernel": 1}, {"op": "batch_norm", "frozen": true})");
  const Layer& conv = network.layers[0];
  CHECK_FALSE(conv.trained);
  CHECK(conv.parameters == 0);
  CHECK(conv.gradient_tensors.empty());
  CHECK(conv.state_elements == 8 * 16 * 9 + 8);
  CHECK(conv.borrowed_weights == 8 * 16 * 9 + 8);
  CHECK(conv.macs == 600 * 8 * 16 * 9);
  CHECK(network.layers[1].state_elements == 2 * 8 + 2 * 8); // averages, gamma and beta
  CHECK(network.layers[2].trained);
  CHECK(network.layers[2].parameters == 4 * 8 + 4);
  const Layer& norm = network.layers[3];
  CHECK(norm.kind == LayerKind::elementwise);
  CHECK(norm.trained);
  CHECK(norm.parameters == 0);
  CHECK(norm.state_elements == 4 * 4);
  CHECK(norm.forward_flops.value() == 2 * 4 * 600);
  CHECK(totals(network).parameters == 4 * 8 + 4);
  CHECK_THAT(problem_in(kImage, R"({"op": "conv", "out": 8, "kernel": 1},
                                   {"op": "frozen", "body": ["relu"]})"),
             Contains("/layers/1/body comes after layers that are trained") &&
                 Contains("frozen layers stand first"));
}

TEST_CASE("a tied conv has the weights of one before it", "[models][network]")
{
  const Network network = network_of(kImage, R"(
    {"op": "conv", "out": 16, "kernel": 3}, {"op": "conv", "out": 16, "kernel": 3, "tied": true})");
  CHECK(network.layers[1].parameters == 0);
  CHECK(network.layers[1].gradient_tensors.empty());
  CHECK(network.layers[1].borrowed_weights == 16 * 16 * 9 + 16);
  CHECK(network.layers[1].trained);
  CHECK(network.layers[1].macs == network.layers[0].macs);
  CHECK_THAT(problem_in(kImage, R"({"op": "conv", "out": 16, "kernel": 3, "bias": false},
                                   {"op": "conv", "out": 16, "kernel": 3, "tied": true})"),
             Contains("/layers/1/tied needs a conv of 2304 weights with a bias before it"));
}

TEST_CASE("a table is tied to its first rows, and to another input's",
          "[models][network][closed-form]")
{
  const Network network = network_of("\"tokens\": 6", R"(
    {"op": "encoder", "tokens": 4, "layers": [{"op": "embedding", "vocab": 100, "hidden": 8}]},
    {"op": "embedding", "vocab": 100, "hidden": 8, "positions": 6, "tied": true},
    {"op": "linear", "out": 30, "tied": true, "bias": false})");
  CHECK(network.layers[0].gradient_tensors == Tensors{800});
  CHECK(network.layers[0].output == Shape::sequence(4, 8));
  CHECK(network.layers[1].gradient_tensors == Tensors{48});
  CHECK(network.layers[1].borrowed_weights == 800);
  CHECK(network.layers[1].output == Shape::sequence(6, 8));
  CHECK(network.layers[2].macs == 6 * 8 * 30);
  CHECK(network.layers[2].borrowed_weights == 8 * 30);
  CHECK(network.layers[2].parameters == 0);
  CHECK_THAT(problem_in("\"tokens\": 6", R"({"op": "embedding", "vocab": 9, "hidden": 8},
                                            {"op": "linear", "out": 10, "tied": true})"),
             Contains("/layers/1/tied needs an embedding of 10 x 8"));
  CHECK_THAT(
      problem_in("\"tokens\": 6", R"({"op": "embedding", "vocab": 9, "hidden": 8, "tied": true})"),
      Contains("/layers/0/tied needs an embedding of 9 x 8"));
}

TEST_CASE("projections are a product each, or one, and scores masked or not", "[models][network]")
{
  const auto attention = [](const std::string& keys) {
    return network_of(R"("tokens": 6, "hidden": 8)",
                      R"({"op": "attention", "heads": 2, )" + keys + "}");
  };
  const Network apart = attention(R"("projections": "apart")");
  CHECK(named(apart, "attention.query").summed_gradients == 0);
  for (const char* name : {"attention.key", "attention.value"}) {
    CHECK(named(apart, name).summed_gradients == 1);
    CHECK(named(attention(R"("projections": "adding")"), name).summed_gradients == 0);
  }
  CHECK(named(apart, "attention.scale_mask").op == "scale_mask");
  const Network joined = attention(R"("projections": "joined", "mask": false)");
  CHECK(named(joined, "attention.scale_scores").op == "scale_scores");
  const Layer all = named(joined, "attention.query_key_value");
  CHECK(all.macs == 3 * 6 * 8 * 8);
  CHECK(all.gradient_tensors == std::vector<std::int64_t>{3 * 8 * 8, 3 * 8});
  CHECK(all.summed_gradients == 0);
  CHECK(totals(joined).macs == totals(apart).macs);
  CHECK(totals(joined).parameters == totals(apart).parameters);
  // Of an encoder's tokens keys and values, whose gradients are added to those of other layers.
  const Network cross = network_of("\"tokens\": 6", R"(
    {"op": "encoder", "tokens": 10, "layers": [{"op": "embedding", "vocab": 50, "hidden": 8}]},
    {"op": "embedding", "vocab": 50, "hidden": 8, "tied": true},
    {"op": "attention", "heads": 2, "cross": true, "projections": "joined"})");
  CHECK(named(cross, "attention.query").macs == 6 * 8 * 8);
  CHECK(named(cross, "attention.key_value").macs == 2 * 10 * 8 * 8);
  CHECK(named(cross, "attention.key_value").summed_gradients == 1);
}

TEST_CASE("cross attention meets the encoder's tokens", "[models][network][closed-form]")
{
  const Network network = network_of("\"tokens\": 6", R"(
    {"op": "encoder", "tokens": 10, "layers": [{"op": "embedding", "vocab": 50, "hidden": 8}]},
    {"op": "embedding", "vocab": 50, "hidden": 8, "tied": true},
    {"op": "attention", "heads": 2, "cross": true, "bias": false})");
  CHECK(named(network, "attention.query").macs == 6 * 8 * 8);
  CHECK(named(network, "attention.key").macs == 10 * 8 * 8);
  CHECK(named(network, "attention.value").macs == 10 * 8 * 8);
  CHECK(named(network, "attention.split_heads").output_elements == (6 + 2 * 10) * 8);
  const Layer scores = named(network, "attention.scores");
  CHECK(scores.macs == 6 * 10 * 8);
  CHECK(scores.input_elements == 6 * 8 + 10 * 8);
  CHECK(scores.output == Shape::sequence(6, 2 * 10));
  const Layer context = named(network, "attention.context");
  CHECK(context.macs == 6 * 10 * 8);
  CHECK(context.input_elements == 10 * 8 + 2 * 6 * 10);
  CHECK(named(network, "attention.output").macs == 6 * 8 * 8);
  CHECK(network.layers.back().output == Shape::sequence(6, 8));
  const std::string table = R"({"op": "embedding", "vocab": 9, "hidden": 8}, )";
  CHECK_THAT(
      problem_in("\"tokens\": 6", table + R"({"op": "attention", "heads": 2, "cross": true})"),
      Contains("/layers/1/cross needs an encoder before it"));
  CHECK_THAT(problem_in("\"tokens\": 6",
                        table + R"({"op": "attention", "heads": 2, "memory": 4, "window": 3})"),
             Contains("/layers/1/window stands beside 'cross' or 'memory'"));
  CHECK_THAT(problem_in("\"tokens\": 6", R"({"op": "encoder", "tokens": 4, "layers": [
                 {"op": "embedding", "vocab": 9, "hidden": 8}, "first_token"]})"),
             Contains("/layers/0/layers must end in a sequence, not in 8"));
}

TEST_CASE("a memory adds keys, relative positions a second product",
          "[models][network][closed-form]")
{
  const Network network = network_of(R"("tokens": 6, "hidden": 8)", R"(
    {"op": "attention", "heads": 2, "bias": false, "memory": 4, "relative": true})");
  // Dai et al.: a segment and its memory are joined, and projected together.
  CHECK(named(network, "attention.with_memory").output_elements == 10 * 8);
  for (const char* one : {"attention.query", "attention.key", "attention.value"})
    CHECK(named(network, one).macs == 10 * 8 * 8);
  const Layer distance = named(network, "attention.distance");
  CHECK(distance.gradient_tensors == Tensors{64});
  CHECK(distance.macs == 0); // once for all samples
  CHECK(named(network, "attention.scores").macs == 6 * 10 * 8);
  CHECK(named(network, "attention.distance_scores").macs == 6 * 10 * 8);
  CHECK(named(network, "attention.distance_scores").input_elements == 6 * 8);
  CHECK(named(network, "attention.shift").output_elements == 2 * 6 * 10);
  CHECK(named(network, "attention.add_scores").input_elements == 2 * 2 * 6 * 10);
  CHECK(named(network, "attention.softmax").output_elements == 2 * 6 * 10);
  CHECK(named(network, "attention.context").output == Shape::sequence(6, 8));
  CHECK(totals(network).parameters == 5 * 64);
}

TEST_CASE("regions are sampled into a volume or long tokens", "[models][network][closed-form]")
{
  const Network network = network_of(kImage, R"(
    {"op": "side", "body": [{"op": "regions", "count": 5, "size": 7, "flat": true},
                            {"op": "linear", "out": 3}]},
    {"op": "regions", "count": 5, "size": 4},
    {"op": "conv", "out": 2, "kernel": [1, 3, 3], "padding": [0, 1, 1]})");
  CHECK(network.layers[0].output == Shape::sequence(5, 16 * 49));
  CHECK(network.layers[0].input_elements == 4 * 5 * 16 * 49);
  CHECK(network.layers[0].forward_flops.value() == 32.0 * 5 * 16 * 49);
  CHECK(network.layers[1].macs == 5 * 16 * 49 * 3);
  CHECK(network.layers[2].output == Shape::volume(16, 5, 4, 4));
  CHECK(network.layers[3].macs == 5 * 16 * 16 * 2 * 9);
}

} // namespace foretrain::network_parts_test
