// Bad network files: each is refused where the mistake is, with the pointer to it.
#include "tests/models/network_support.hpp"

#include <catch2/catch.hpp>

namespace foretrain::network_errors_test {

using Catch::Matchers::Contains;
using test::problem_of;

namespace {

std::string problem_in(const std::string& input, const std::string& layers)
{
  return problem_of("{\"input\": {" + input + "},\n \"layers\": [" + layers + "]}");
}

} // namespace

TEST_CASE("shapes that do not fit are refused at their layer", "[models][network]")
{
  const auto [layers, expected] = GENERATE(table<std::string, std::string>({
      {R"({"op": "conv", "out": 8, "kernel": 40, "padding": "valid"})",
       "/layers/0/kernel (40x40) is larger than its input 16x20x30"},
      {R"({"op": "max_pool", "kernel": [21, 2]})",
       "/layers/0/kernel (21x2) is larger than its input"},
      {R"("relu", {"op": "conv", "out": 9, "kernel": 1, "groups": 3})",
       "/layers/1/groups must divide the 16 input channels, got 3"},
      {R"({"op": "conv", "out": 9, "kernel": 1, "groups": 4})",
       "/layers/0/out must be divisible by groups (4)"},
      {R"({"op": "residual", "main": [{"op": "conv", "out": 8, "kernel": 1}]})",
       "/layers/0/main does not fit: the main path makes 8x20x30, the shortcut 16x20x30"},
      {R"({"op": "residual", "main": ["relu"], "shortcut": [{"op": "max_pool", "kernel": 2}]})",
       "/layers/0/shortcut does not fit"},
      {R"({"op": "branches", "paths": [["relu"], [{"op": "max_pool", "kernel": 2}]]})",
       "/layers/0 cannot concatenate 16x20x30 with 16x10x15"},
      {R"({"op": "dense_block", "times": 2, "body": ["flatten", {"op": "linear", "out": 3}]})",
       "/layers/0 cannot concatenate"},
      {R"({"op": "linear", "out": 5})", "/layers/0 needs a vector or a sequence"},
      {R"({"op": "attention", "heads": 2})", "/layers/0 needs a sequence"},
      {R"({"op": "image", "height": 20, "width": 30})", "/layers/0 needs a sequence"},
      {R"("flatten", "global_avg_pool")", "/layers/1 needs an image"},
      {R"({"op": "heads", "paths": [["relu"]]}, "relu")", "/layers/1 comes after 'heads'"},
      {R"({"op": "branches", "paths": [[{"op": "heads", "paths": [["relu"]]}], ["relu"]]})",
       "/layers/0/paths/0 ends in 'heads'"},
  }));
  CHECK_THAT(problem_in(test::kImage, layers), Contains(expected) && Contains("net.json:2:"));
}

TEST_CASE("sequences that do not fit are refused", "[models][network]")
{
  const auto [layers, expected] = GENERATE(table<std::string, std::string>({
      {R"("relu")",
       "/layers/0 needs an image or a sequence or a vector, but what arrives here is token ids"},
      {R"({"op": "linear", "out": 5})", "put an embedding before it"},
      {R"({"op": "branches", "paths": [[], []]})", "/layers/0 cannot concatenate token ids"},
      {R"({"op": "embedding", "vocab": 9, "hidden": 8, "positions": 4})",
       "/layers/0/positions (4) is less than the sequence length 6"},
      {R"({"op": "embedding", "vocab": 9, "hidden": 8}, {"op": "attention", "heads": 3})",
       "/layers/1/heads must divide the hidden size 8, got 3"},
      {R"({"op": "embedding", "vocab": 9, "hidden": 8}, {"op": "linear", "out": 10, "tied": true})",
       "/layers/1/tied needs an embedding of 10 x 8"},
  }));
  CHECK_THAT(problem_in("\"tokens\": 6", layers), Contains(expected));
}

TEST_CASE("misspelt and misplaced keys are refused with the nearest right one", "[models][network]")
{
  const auto [layers, expected, hint] = GENERATE(table<std::string, std::string, std::string>({
      {R"("rellu")", "/layers/0 is not a known op: 'rellu'", "did you mean 'relu'?"},
      {R"({"op": "convolution"})", "/layers/0/op is not a known op", ""},
      {R"({"op": "conv", "out": 8, "kernal": 3})", "/layers/0/kernal is not a known key",
       "did you mean 'kernel'?"},
      {R"({"op": "conv", "kernel": 3})", "/layers/0/out is missing", ""},
      {R"("conv")", "/layers/0/out is missing", ""},
      {R"({"op": "conv", "out": 0, "kernel": 3})", "/layers/0/out must be at least 1", ""},
      {R"({"op": "conv", "out": 8, "kernel": [1, 2, 3]})",
       "/layers/0/kernel must be a number or [height, width]", ""},
      {R"({"op": "conv", "out": 8, "kernel": 3, "padding": "sane"})",
       "/layers/0/padding must be one of same, valid", ""},
      {R"({"op": "conv", "out": 8, "kernel": 3, "padding": -1})",
       "/layers/0/padding must not be negative", ""},
      {R"({"op": "conv", "out": 8, "kernel": 3, "stride": 0})",
       "/layers/0/stride must be at least 1", ""},
      {R"({"op": "conv", "out": 8, "kernel": 3, "then": "relu"})",
       "/layers/0/then must be a list of layers", ""},
      {R"({"op": "relu", "name": "a b"})", "/layers/0/name must be at most 40 letters", ""},
      {R"({"op": "residual", "main": []})", "/layers/0/main must not be empty", ""},
      {R"({"op": "branches", "paths": [["relu"]]})", "/layers/0/paths must hold at least 2 lists",
       ""},
      {R"({"op": "branches", "paths": 7})", "/layers/0/paths must be a list of lists", ""},
      {R"({"out": 8})", "/layers/0 must be a layer like", ""},
      {R"(7)", "/layers/0 must be a layer like", ""},
      {R"({"op": 7})", "/layers/0/op must be a text", ""},
      {R"({"op": "repeat", "times": 10001, "body": ["relu"]})",
       "/layers/0/times must be at most 10000", ""},
      {R"({"op": "repeat", "times": 2, "body": []})", "/layers/0/body must not be empty", ""},
  }));
  CHECK_THAT(problem_in(test::kImage, layers), Contains(expected) && Contains(hint));
}

TEST_CASE("an empty network or a strange input is refused", "[models][network]")
{
  CHECK_THAT(problem_in("\"features\": 4", ""), Contains("/layers must not be empty"));
  CHECK_THAT(problem_in("\"features\": 4", "\"flatten\""),
             Contains("/layers holds no layer that computes"));
  CHECK_THAT(problem_in("", "\"relu\""), Contains("/input must be an image"));
  CHECK_THAT(problem_in(R"("tokens": 4, "features": 4)", "\"relu\""),
             Contains("/input must be an image"));
  CHECK_THAT(problem_in(R"("channels": 3, "height": 4)", "\"relu\""),
             Contains("/input/width is missing"));
  CHECK_THAT(problem_in(R"("hidden": 3)", "\"relu\""), Contains("/input/tokens is missing"));
  CHECK_THAT(problem_of(R"({"input": {"features": 4}})"), Contains("/layers is missing"));
  CHECK_THAT(problem_of(R"({"format": "foretrain.platform/1"})"), Contains("foretrain.network/1"));
  CHECK_THAT(problem_of("[]"), Contains("must be an object"));
}

TEST_CASE("hostile files end in an error, soon", "[models][network]")
{
  // 10000^3 iterations that emit nothing.
  CHECK_THAT(problem_in("\"features\": 4", R"({"op": "repeat", "times": 10000, "body": [
               {"op": "repeat", "times": 10000, "body": [{"op": "repeat", "times": 10000, "body": ["flatten"]}]}]})"),
             Contains("larger than 100000 layers"));
  // Eight layers each, so that layers run out before steps do.
  CHECK_THAT(
      problem_in(
          R"("tokens": 2, "hidden": 2)",
          R"({"op": "repeat", "times": 10000, "body": ["relu", {"op": "attention", "heads": 1},
                            {"op": "attention", "heads": 1}]})"),
      Contains("larger than 100000 layers"));
  std::string paths = "[]";
  for (int i = 0; i < 100000; ++i)
    paths += ",[]";
  CHECK_THAT(problem_in("\"features\": 4", R"({"op": "branches", "paths": [)" + paths + "]}"),
             Contains("larger than 100000 layers"));
  // What follows a conv holds a conv.
  CHECK_THAT(problem_of(R"({"input": {"channels": 1, "height": 4, "width": 4},
               "defaults": {"conv": {"then": [{"op": "conv", "out": 1, "kernel": 1}]}},
               "layers": [{"op": "conv", "out": 1, "kernel": 1}]})"),
             Contains("nests layers deeper than"));
  // Channels double in every round.
  CHECK_THAT(problem_in(test::kImage, R"({"op": "dense_block", "times": 200, "body": ["relu"]})"),
             Contains("more than the 1.1e+12 that are accepted"));
  CHECK_THAT(problem_in(R"("channels": 1000000, "height": 1000000, "width": 1000000)", "\"relu\""),
             Contains("/input has 1e+18 elements"));
  CHECK_THAT(problem_in(R"("channels": 1000000, "height": 1000, "width": 1000)",
                        R"({"op": "conv", "out": 1000000, "kernel": 1000})"),
             Contains("1e+18 weights"));
  CHECK_THAT(
      problem_in(R"("tokens": 1000000, "hidden": 100000)", R"({"op": "attention", "heads": 100})"),
      Contains("1e+14 scores"));
}

TEST_CASE("layers nest twenty-four deep and no deeper", "[models][network]")
{
  const auto nested = [](int lists) { // so many lists of layers inside each other
    std::string layers = "\"relu\"";
    for (int i = 1; i < lists; ++i)
      layers = R"({"op": "repeat", "times": 1, "body": [)" + layers + "]}";
    return problem_in("\"features\": 4", layers);
  };
  CHECK(nested(24) == "no error");
  CHECK_THAT(nested(25), Contains("/body nests layers deeper than 24 levels"));
}

} // namespace foretrain::network_errors_test
