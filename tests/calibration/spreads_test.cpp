#include "calibration/spreads.hpp"

#include "calibration/correlated.hpp"
#include "tests/support/catch.hpp"

#include <cmath>

namespace foretrain::spreads_test {

using namespace foretrain::calibration;
using Catch::Matchers::WithinAbs;

TEST_CASE("a line of spreads finds its values, list entries spelled out", "[spreads]")
{
  const SpreadLine line{"latencies", "library", {"/p/*/hop/near", "/base"}, 0.3, false, ""};
  const Json preset = Json::parse(
      R"({ "base": "1 us", "p": [ { "hop": { "near": 1 } }, { "hop": {} }, { "hop": { "near": 2 } } ] })");
  CHECK(pointers_in(preset, line) ==
        std::vector<std::string>{"/p/0/hop/near", "/p/2/hop/near", "/base"});
  CHECK(covers(line, "/p/17/hop/near"));
  CHECK(covers(line, "/base"));
  CHECK_FALSE(covers(line, "/p/0/hop/far"));
  CHECK_FALSE(covers(line, "/p/0/hop"));
  CHECK(pointers_in(Json::object(), line).empty());
}

TEST_CASE("every bundled spread is positive and says why", "[spreads]")
{
  const Spreads table = load_spreads();
  CHECK(table.spreads.size() > 20);
  for (const SpreadLine& line : table.spreads) {
    CAPTURE(line.name);
    CHECK(line.spread > 0);
    CHECK(line.spread <= 0.5);
    CHECK(line.source.size() > 15);
    CHECK(!line.pointers.empty());
  }
}

TEST_CASE("the root of a correlation matrix gives it back", "[spreads]")
{
  const std::vector<std::vector<double>> good = {{1, 0.8, 0}, {0.8, 1, -0.3}, {0, -0.3, 1}};
  const std::vector<std::vector<double>> tied = {{1, 1}, {1, 1}};
  for (const auto& matrix : {good, tied}) {
    const auto root = correlation_root(matrix);
    for (std::size_t a = 0; a < matrix.size(); ++a)
      for (std::size_t b = 0; b < matrix.size(); ++b) {
        double sum = 0;
        for (std::size_t k = 0; k < matrix.size(); ++k)
          sum += root[a][k] * root[b][k];
        CHECK_THAT(sum, WithinAbs(matrix[a][b], 1e-9));
      }
  }
  // Rounded correlations may be impossible; each variable keeps its own spread.
  const auto root = correlation_root({{1, 0.9, -0.9}, {0.9, 1, 0.9}, {-0.9, 0.9, 1}});
  for (const auto& row : root) {
    double length = 0;
    for (const double it : row)
      length += it * it;
    CHECK_THAT(length, WithinAbs(1, 1e-9));
  }
}

} // namespace foretrain::spreads_test
