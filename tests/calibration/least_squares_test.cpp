// The fit against closed forms, against Eigen's own solver, and against repetition.
#include "calibration/least_squares.hpp"
#include "tests/support/catch.hpp"

#include <unsupported/Eigen/NonLinearOptimization>
#include <unsupported/Eigen/NumericalDiff>

#include <cmath>
#include <random>

namespace foretrain::least_squares_test {

using namespace foretrain::calibration;
using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;

namespace {

constexpr double kSigma = 0.02;

// Time of a message: latency + size / bandwidth, measured with a relative error.
struct Messages {
  std::vector<double> sizes, times;

  Messages(double latency, double bandwidth, unsigned seed, double sigma = kSigma)
  {
    std::mt19937 random(seed);
    std::normal_distribution<double> normal(0, sigma);
    for (double size = 8; size < 2e9; size *= 4) {
      sizes.push_back(size);
      times.push_back((latency + size / bandwidth) * (sigma > 0 ? std::exp(normal(random)) : 1));
    }
  }
  std::vector<double> residuals(double latency, double bandwidth) const
  {
    std::vector<double> r;
    for (std::size_t i = 0; i < sizes.size(); ++i)
      r.push_back(std::log((latency + sizes[i] / bandwidth) / times[i]) / kSigma);
    return r;
  }
};

Fit fit_messages(const Messages& m, FitOptions options = {})
{
  return fit(
      {{.name = "latency", .start = 1e-6}, {.name = "bandwidth", .start = 1e9}},
      [&](const std::vector<double>& p) { return m.residuals(p[0], p[1]); }, options);
}

// The same problem for Eigen's port of MINPACK: logarithms of the two parameters.
struct MessagesForEigen {
  using Scalar = double;
  using InputType = Eigen::VectorXd;
  using ValueType = Eigen::VectorXd;
  using JacobianType = Eigen::MatrixXd;
  enum { InputsAtCompileTime = Eigen::Dynamic, ValuesAtCompileTime = Eigen::Dynamic };
  const Messages* messages;
  int inputs() const { return 2; }
  int values() const { return static_cast<int>(messages->sizes.size()); }
  int operator()(const Eigen::VectorXd& x, Eigen::VectorXd& r) const
  {
    const auto all = messages->residuals(std::exp(x[0]), std::exp(x[1]));
    r = Eigen::Map<const Eigen::VectorXd>(all.data(), static_cast<Eigen::Index>(all.size()));
    return 0;
  }
};

} // namespace

TEST_CASE("a straight line: values, spreads and correlation in closed form", "[fit]")
{
  const std::vector<double> x{1, 2, 3, 5, 8};
  const std::vector<double> y{2.1, 3.9, 6.2, 9.8, 16.1};
  const double sigma = 0.2;
  const Fit result = fit({{.name = "offset", .start = 1, .logarithmic = false},
                          {.name = "slope", .start = 1, .logarithmic = false}},
                         [&](const std::vector<double>& p) {
                           std::vector<double> r;
                           for (std::size_t i = 0; i < x.size(); ++i)
                             r.push_back((p[0] + p[1] * x[i] - y[i]) / sigma);
                           return r;
                         },
                         {.huber = 100});
  double sx = 0, sy = 0, sxx = 0, sxy = 0;
  const auto n = static_cast<double>(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    sx += x[i];
    sy += y[i];
    sxx += x[i] * x[i];
    sxy += x[i] * y[i];
  }
  const double det = n * sxx - sx * sx;
  CHECK(result.converged);
  CHECK_THAT(result.parameters[0].value, WithinRel((sxx * sy - sx * sxy) / det, 1e-7));
  CHECK_THAT(result.parameters[1].value, WithinRel((n * sxy - sx * sy) / det, 1e-7));
  CHECK_THAT(result.parameters[0].spread, WithinRel(sigma * std::sqrt(sxx / det), 1e-6));
  CHECK_THAT(result.parameters[1].spread, WithinRel(sigma * std::sqrt(n / det), 1e-6));
  CHECK_THAT(result.correlation[0][1], WithinRel(-sx / std::sqrt(n * sxx), 1e-6));
  CHECK(result.parameters[1].known);
}

TEST_CASE("exact data give the exact parameters, far from the start", "[fit]")
{
  const Fit result = fit_messages(Messages(7e-6, 48e9, 0, 0));
  CHECK_THAT(result.parameters[0].value, WithinRel(7e-6, 1e-6));
  CHECK_THAT(result.parameters[1].value, WithinRel(48e9, 1e-6));
  CHECK(result.evaluations < 200);
}

TEST_CASE("Eigen's solver finds the same minimum", "[fit]")
{
  for (unsigned seed = 0; seed < 5; ++seed) {
    const Messages messages(7e-6, 48e9, seed);
    const Fit result = fit_messages(messages, {.huber = 100});
    Eigen::NumericalDiff<MessagesForEigen> problem(MessagesForEigen{&messages});
    Eigen::VectorXd x(2);
    x << std::log(1e-6), std::log(1e9);
    Eigen::LevenbergMarquardt<Eigen::NumericalDiff<MessagesForEigen>> oracle(problem);
    oracle.minimize(x);
    CHECK_THAT(result.parameters[0].value, WithinRel(std::exp(x[0]), 1e-5));
    CHECK_THAT(result.parameters[1].value, WithinRel(std::exp(x[1]), 1e-5));
  }
}

TEST_CASE("repeated measurements scatter as the spreads say", "[fit]")
{
  const bool known = GENERATE(true, false);
  const int runs = 300;
  std::vector<double> distance; // in claimed standard deviations
  double noise = 0;
  for (int i = 0; i < runs; ++i) {
    const Fit result = fit_messages(Messages(7e-6, 48e9, static_cast<unsigned>(i), 2 * kSigma),
                                    {.noise_known = known});
    REQUIRE(result.parameters[0].known);
    distance.push_back((result.parameters[0].value - 7e-6) / result.parameters[0].spread);
    noise += result.noise / runs;
  }
  double mean = 0, square = 0;
  for (const double d : distance) {
    mean += d / runs;
    square += d * d / runs;
  }
  CAPTURE(known, mean, square, noise);
  CHECK_THAT(mean, WithinAbs(0, 0.2));
  // The claimed noise was half of the true one: the misfit shows it.
  CHECK_THAT(std::sqrt(square), WithinAbs(1.05, 0.2));
  if (!known)
    CHECK_THAT(noise, WithinAbs(2, 0.3));
}

TEST_CASE("outliers are named and pull little", "[fit]")
{
  Messages messages(7e-6, 48e9, 3);
  const Fit clean = fit_messages(messages);
  messages.times[2] *= 4;
  const Fit result = fit_messages(messages);
  for (std::size_t i = 0; i < result.rows.size(); ++i)
    CHECK(result.rows[i].outlier == (i == 2));
  CHECK(result.rows[2].weight < 0.1);
  CHECK(result.rows[2].weight > 0); // still there
  for (std::size_t k = 0; k < 2; ++k) {
    const double moved = result.parameters[k].value - clean.parameters[k].value;
    CHECK(std::abs(moved) < 1.5 * clean.parameters[k].spread);
  }
}

TEST_CASE("what the data cannot tell apart is unknown, and says with what", "[fit]")
{
  const Messages messages(7e-6, 48e9, 1);
  const Fit result =
      fit({{.name = "latency", .start = 1e-6},
           {.name = "bricks", .start = 2},
           {.name = "brick", .start = 1e9},
           {.name = "idle", .start = 1}},
          [&](const std::vector<double>& p) { return messages.residuals(p[0], p[1] * p[2]); });
  CHECK(result.parameters[0].known);
  CHECK_THAT(result.parameters[0].value, WithinRel(7e-6, 0.05));
  CHECK_FALSE(result.parameters[1].known);
  CHECK_FALSE(result.parameters[2].known);
  CHECK(result.parameters[1].together_with == std::vector<std::string>{"brick"});
  CHECK(result.parameters[2].together_with == std::vector<std::string>{"bricks"});
  CHECK(result.parameters[3].without_effect);
  CHECK_FALSE(result.parameters[3].known);
  CHECK_THAT(result.parameters[1].value * result.parameters[2].value, WithinRel(48e9, 0.05));
}

TEST_CASE("fewer measurements than parameters leave something unknown", "[fit]")
{
  const Fit result =
      fit({{.name = "a", .start = 1}, {.name = "b", .start = 1}}, [](const std::vector<double>& p) {
        return std::vector<double>{(p[0] + p[1] - 3) / 0.01};
      });
  CHECK_FALSE(result.parameters[0].known);
  CHECK_FALSE(result.parameters[1].known);
  CHECK_THAT(result.parameters[0].value + result.parameters[1].value, WithinRel(3.0, 1e-4));
}

TEST_CASE("a value at the edge of what is allowed is not known", "[fit]")
{
  const Messages messages(7e-6, 48e9, 1);
  const Fit result =
      fit({{.name = "latency", .start = 1e-6},
           {.name = "bandwidth", .start = 1e9, .low = 1e8, .high = 25e9}},
          [&](const std::vector<double>& p) { return messages.residuals(p[0], p[1]); });
  CHECK(result.parameters[1].value <= 25e9 * (1 + 1e-12));
  CHECK(result.parameters[1].at_bound);
  CHECK_FALSE(result.parameters[1].known);
}

TEST_CASE("a fit that cannot begin is refused", "[fit]")
{
  const Residuals one = [](const std::vector<double>& p) { return p; };
  CHECK_THROWS_AS(fit({{.name = "a", .start = -1}}, one), std::invalid_argument);
  CHECK_THROWS_AS(fit({{.name = "a", .start = 1, .low = 2}}, one), std::invalid_argument);
  CHECK_THROWS_AS(fit({{.name = "a", .start = 1}},
                      [](const std::vector<double>&) { return std::vector<double>{NAN}; }),
                  std::invalid_argument);
}

TEST_CASE("the noise of few measurements grows by the parameters fitted to them", "[fit]")
{
  const std::vector<double> measured{1.0, 1.1, 1.3, 1.6};
  const Fit found = fit({{.name = "value", .start = 1}},
                        [&](const std::vector<double>& p) {
                          std::vector<double> r;
                          for (const double it : measured)
                            r.push_back(p[0] - it);
                          return r;
                        },
                        {.noise_known = false});
  std::vector<double> sizes;
  for (const auto& row : found.rows)
    sizes.push_back(std::abs(row.residual));
  std::sort(sizes.begin(), sizes.end());
  const double median = (sizes[1] + sizes[2]) / 2;
  CHECK_THAT(found.noise, WithinRel(1.4826 * median * std::sqrt(4.0 / 3), 1e-9));
}

} // namespace foretrain::least_squares_test
