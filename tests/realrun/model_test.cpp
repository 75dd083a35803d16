#include "realrun/common/buckets.hpp"
#include "realrun/common/model.hpp"
#include "realrun/common/parameters.hpp"
#include "realrun/common/statistics.hpp"
#include "sim/base/error.hpp"

#include <catch2/catch.hpp>

#include <cmath>
#include <set>

using namespace foretrain;
using namespace foretrain::realrun;

namespace {

Model model_of(const std::string& text)
{
  return read_as<Model>(Value(parse_document(text, "model.json")));
}

Model small(const std::string& kind)
{
  Model model;
  model.name = kind;
  model.kind = kind;
  model.image = 16;
  model.width = 8;
  model.depth = 2;
  model.stages = 2;
  return model;
}

} // namespace

TEST_CASE("an MLP has (pixels + (depth-1) width + classes) width weights and 6 flop for each")
{
  Model model = small("mlp");
  const Program program = build_program(model);
  const double pixels = 16 * 16 * 3;
  const double first = pixels * 8;
  const double rest = 8 * 8 + 8 * 10;
  CHECK(static_cast<double>(program.parameter_count) == first + rest + 8 + 8 + 10);
  double gemm = 0.0;
  for (const Op& op : program.ops)
    if (op.kind == OpKind::linear)
      gemm += op.forward_flop + op.backward_flop;
  CHECK(gemm == 4 * first + 6 * rest); // nobody needs the gradient of the pixels
}

TEST_CASE("a convolution costs 2 out_pixels kernel^2 in_channels out_channels flop")
{
  const Program program = build_program(small("convnet"));
  CHECK(program.ops[0].forward_flop == 2.0 * 8 * 8 * 9 * 3 * 8);
  CHECK(program.ops[2].forward_flop == 2.0 * 8 * 8 * 9 * 8 * 8);
  CHECK(program.largest_patch_matrix == 8 * 8 * 9 * 8);
}

TEST_CASE("parameters lie without gaps, and start the same for the same seed")
{
  const Program program = build_program(small("transformer"));
  std::size_t end = 0;
  for (const Parameter& p : program.parameters) {
    CHECK(p.offset == end);
    end += p.size();
  }
  CHECK(end == program.parameter_count);
  CHECK(starting_parameters(program, 3) == starting_parameters(program, 3));
  CHECK(starting_parameters(program, 3) != starting_parameters(program, 4));
}

TEST_CASE("buckets cover every gradient once, in the order backward makes them")
{
  const double bytes = GENERATE(0.0, 1.0, 1000.0, 10000.0, 1e9);
  const std::string kind = GENERATE("mlp", "convnet", "transformer");
  const Program program = build_program(small(kind));
  std::size_t end = program.parameter_count;
  std::size_t last_op = program.ops.size();
  const auto buckets = make_buckets(program, bytes);
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    CHECK(buckets[i].offset + buckets[i].count == end);
    CHECK(buckets[i].ready_op < last_op);
    if (i + 1 < buckets.size())
      CHECK(static_cast<double>(buckets[i].count * 4) >= bytes);
    end = buckets[i].offset;
    last_op = buckets[i].ready_op;
  }
  CHECK(end == 0);
  if (bytes > 1e8)
    CHECK(buckets.size() == 1);
}

TEST_CASE("a wrong model file is refused with its place and a hint")
{
  CHECK_THROWS_WITH(model_of(R"({"format": "foretrain.realrun-model/1", "name": "x", "kind": "mlp",
    "image": 32, "classes": 10, "widht": 3, "depth": 1})"),
                    Catch::Contains("model.json:2") && Catch::Contains("widht") &&
                        Catch::Contains("width"));
  CHECK_THROWS_AS(model_of(R"({"format": "foretrain.realrun-model/1", "name": "x", "kind": "mpl",
    "image": 32, "classes": 10, "width": 3, "depth": 1})"),
                  ConfigError);
  Model odd = small("transformer");
  odd.patch = 5;
  CHECK_THROWS_WITH(build_program(odd), Catch::Contains("not a multiple of patch"));
}

TEST_CASE("a summary gives median, quantiles and the sample deviation")
{
  const std::vector<double> samples{5, 1, 3, 2, 4};
  const Summary s = summarise(samples);
  CHECK(s.count == 5);
  CHECK(s.median == 3);
  CHECK(s.minimum == 1);
  CHECK(s.maximum == 5);
  CHECK(s.p10 == Approx(1.4));
  CHECK(s.p90 == Approx(4.6));
  CHECK(s.deviation == Approx(std::sqrt(2.5)));
  CHECK(summarise(std::vector<double>{7}).deviation == 0);
}
