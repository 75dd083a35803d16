// What a fit left over, against its definition.
#include "experiments/run/uncertainty/unexplained.hpp"

#include "tests/support/catch.hpp"

#include <cmath>
#include <random>

namespace foretrain::unexplained_test {

using namespace foretrain::experiments;

namespace {

// Two profiles: "a" taught three parameters by two fits, "b" one without residuals.
Point taught(double mean, int measurements)
{
  const auto parameter = [](const char* source,
                            std::optional<calibration::ProfileResiduals> residuals) {
    calibration::ProfileParameter it;
    it.source = source;
    it.residuals = residuals;
    return it;
  };
  const calibration::ProfileResiduals left{measurements, mean, 0};
  auto profiles = std::make_shared<Profiles>();
  profiles->list.resize(2);
  profiles->list[0].parameters = {parameter("fit of reads", left), parameter("fit of sums", left),
                                  parameter("fit of reads", left)};
  profiles->list[1].parameters = {parameter("fit of reads", std::nullopt)};
  Point point;
  point.profiles = profiles;
  return point;
}

Variable variable(double spread, int profile, int parameter)
{
  Variable it;
  it.spread = spread;
  it.profile = profile;
  it.parameter = parameter;
  return it;
}

} // namespace

TEST_CASE("errors of a right model with known noise give the noise back", "[uncertainty][oracle]")
{
  // n draws of a normal distribution, of which p means were taken: their mean size is smaller by
  // sqrt((n - p) / n) than that of the noise, which is sqrt(2 / pi) of its standard deviation.
  std::mt19937_64 random(11);
  std::normal_distribution<double> noise(0, 0.07);
  const int n = 6;
  double sizes = 0;
  const int fits = 20000;
  for (int i = 0; i < fits; ++i) {
    std::vector<double> drawn(n);
    double first = 0; // two parameters: the mean of each half
    double second = 0;
    for (int k = 0; k < n; ++k)
      (k < n / 2 ? first : second) +=
          (drawn[static_cast<std::size_t>(k)] = noise(random)) / (n / 2);
    for (int k = 0; k < n; ++k)
      sizes += std::abs(drawn[static_cast<std::size_t>(k)] - (k < n / 2 ? first : second)) / n;
  }
  const Point point = taught(sizes / fits, n);
  const auto left = unexplained(point, {variable(0.1, 0, 0), variable(0.1, 0, 2)});
  REQUIRE(left.size() == 1);
  CHECK(left[0].spread == Approx(0.07).epsilon(0.02));
  CHECK(left[0].name == "what the fit to fit of reads left unexplained");
  CHECK(left[0].variables == std::vector<std::size_t>{0, 1});
}

TEST_CASE("each fit leaves its own rest, and one of as many parameters as measurements none",
          "[uncertainty]")
{
  const std::vector<Variable> variables = {variable(0.1, -1, -1), variable(0.1, 0, 0),
                                           variable(0.1, 1, 0), variable(0.1, 0, 1)};
  const auto rests = [&variables](double mean, int measurements) {
    return unexplained(taught(mean, measurements), variables);
  };
  const auto both = rests(0.05, 3);
  REQUIRE(both.size() == 2);
  CHECK(both[0].variables == std::vector<std::size_t>{1});
  CHECK(both[1].variables == std::vector<std::size_t>{3});
  const double kPi = std::acos(-1.0);
  CHECK_THAT(both[0].spread, test::is(std::sqrt(kPi / 2) * 0.05 * std::sqrt(3.0)));     // 3 - 2
  CHECK_THAT(both[1].spread, test::is(std::sqrt(kPi / 2) * 0.05 * std::sqrt(3.0 / 2))); // 3 - 1
  REQUIRE(rests(0.05, 2).size() == 1); // two parameters follow two measurements
  CHECK(rests(0.05, 2)[0].variables == std::vector<std::size_t>{3});
  CHECK(rests(0.05, 1).empty());
  CHECK(rests(0, 9).empty());
}

TEST_CASE("a rest moves a job as much as what its fit is about, and no more than all of it",
          "[uncertainty]")
{
  const Unexplained fit{"", 0.08, {0, 2}};
  const std::vector<Variable> variables = {variable(0.1, 0, 0), variable(0.5, -1, -1),
                                           variable(0.2, 0, 1)};
  // Sensitivities 0.3 and 0.2, of either sign: half of the step is about them.
  CHECK_THAT(effect_of(fit, variables, {0.03, 0.4, -0.04}), test::is(0.08 * 0.5));
  CHECK_THAT(effect_of(fit, variables, {0.1, 0, 0.2}), test::is(0.08));
  CHECK(effect_of(fit, variables, {0, 0.5, 0}) == 0);
}

} // namespace foretrain::unexplained_test
