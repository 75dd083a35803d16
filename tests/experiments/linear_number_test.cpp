// Numbers with what causes of error do to them.
#include "experiments/validate/linear_number.hpp"

#include "tests/support/catch.hpp"

#include <cmath>

namespace foretrain::test::linear_number_test {
namespace {

using namespace experiments;

TEST_CASE("a cause that both sides share cancels in a ratio, others add in squares",
          "[closed-form]")
{
  const LinearNumber a{200, {{"gpu", 20}, {"a", 6}}};
  const LinearNumber b{100, {{"gpu", 10}, {"b", -4}}};
  const LinearNumber ratio = a / b;
  CHECK(ratio.value == Approx(2));
  CHECK(ratio.effects.at("gpu") == Approx(0).margin(1e-12));
  const Range range = interval_of(ratio, 0.9);
  const double deviation = std::hypot(0.03, 0.04); // relative
  CHECK(range.low == Approx(2 * std::exp(-1.6448536 * deviation)));
  CHECK(range.high == Approx(2 * std::exp(1.6448536 * deviation)));
}

TEST_CASE("a difference has an interval on both sides of zero", "[closed-form]")
{
  const LinearNumber a{1, {{"a", 0.03}}};
  const LinearNumber b{1, {{"b", 0.04}}};
  const Range range = interval_of(a - b, 0.9);
  CHECK(range.low == Approx(-1.6448536 * 0.05));
  CHECK(range.high == Approx(1.6448536 * 0.05));
}

TEST_CASE("guests of each kind move a number to one side, and those of one host cancel",
          "[closed-form]")
{
  const LinearNumber guest{100, {}, {{"vm, slower", -10}, {"vm, faster", 3}}};
  const LinearNumber metal{100};
  const Range slower = interval_of(guest / metal, 0.9);
  CHECK(slower.high == Approx(std::exp(1.6448536 * 0.03)));
  CHECK(slower.low == Approx(std::exp(-1.6448536 * 0.1)));
  const Range longer = interval_of(metal / guest, 0.9);
  CHECK(longer.low == Approx(std::exp(-1.6448536 * 0.03)));
  CHECK(longer.high == Approx(std::exp(1.6448536 * 0.1)));
  CHECK(interval_of(guest / guest, 0.9).low == Approx(1));
}

TEST_CASE("a mean and a multiple move with their parts", "[closed-form]")
{
  const LinearNumber mean = mean_of({{10, {{"a", 1}}}, {20, {{"a", 2}, {"b", 4}}}});
  CHECK(mean.value == Approx(15));
  CHECK(mean.effects.at("a") == Approx(1.5));
  CHECK(mean.effects.at("b") == Approx(2));
  CHECK((3 * mean).value == Approx(45));
  CHECK((3 * mean).effects.at("b") == Approx(6));
}

} // namespace
} // namespace foretrain::test::linear_number_test
