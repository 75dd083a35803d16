// Intervals of quantities that do not follow their parameters in proportion, against closed forms.
#include "experiments/run/uncertainty/interval_ends.hpp"
#include "experiments/run/uncertainty/linear_spreads.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

namespace foretrain::interval_ends_test {

using namespace foretrain::experiments;
using Catch::WithinRel;

namespace {

const double kHalf = half_width(0.9);

// A quantity of two times, `host` and `kernels`, of which each is uncertain.
struct Made {
  std::function<double(double host, double kernels)> logarithm;
  double spread_host = 0.4;
  double spread_kernels = 0.1;
  double correlation = 0;
  int runs = 0;
  bool straight = false;

  Deviations deviations()
  {
    auto document = std::make_shared<Document>();
    document->root = {{"host", 1.0}, {"kernels", 1.0}};
    const Point point{{}, document, nullptr};
    std::vector<Variable> variables;
    for (const auto& [name, spread] :
         {std::pair{"host", spread_host}, std::pair{"kernels", spread_kernels}}) {
      Variable variable{name, "job", {}, spread};
      variable.at.push_back({std::string("/") + name, {1, "s", 1}, 0, 1e9});
      variables.push_back(variable);
    }
    const RatesOf rates = [this](const Point& at, bool) {
      ++runs;
      const auto told = [&](const char* name) {
        const Json& value = at.document->root.at(name);
        return value.is_string() ? std::stod(value.get<std::string>()) : value.get<double>();
      };
      return LogRates{logarithm(told("host"), told("kernels"))};
    };
    const LinearEffects effects = linear_effects(point, rates, variables);
    runs = 0;
    return deviations_to_ends(point, variables, effects, {{1, correlation}, {correlation, 1}},
                              {rates, effects.base.front(), 0, kHalf, straight});
  }
};

} // namespace

TEST_CASE("an interval ends where the slower of two is fast enough, and no further",
          "[uncertainty][closed-form]")
{
  // The rate of a host that takes a tenth longer than the GPU: most likely at the upper end are
  // both so fast, host by e and kernels by e - log 1.1, that they are as unlikely as the end.
  Made made{[](double host, double kernels) { return -std::log(std::max(1.1 * host, kernels)); }};
  const double lead = std::log(1.1);
  double low = 0, high = 2;
  while (high - low > 1e-9) {
    const double end = (low + high) / 2;
    (std::hypot(end / 0.4, (end - lead) / 0.1) < kHalf ? low : high) = end;
  }
  const Deviations found = made.deviations();
  CHECK_THAT(kHalf * found.above, WithinRel(low, 0.05));
  CHECK(found.above < 0.6 * 0.4);                // of a host alone
  CHECK_THAT(found.below, WithinRel(0.4, 1e-3)); // a slower one is that
  CHECK(made.runs > 4);
  made.straight = true; // the host alone has effects there, until the kernels take as long
  CHECK_THAT(kHalf * made.deviations().above, WithinRel(lead, 0.03));
  CHECK(made.runs == 2);
}

TEST_CASE("of two limits that are as near the less certain one alone reaches the end",
          "[uncertainty][closed-form]")
{
  Made made{[](double host, double kernels) { return -std::log(std::max(host, kernels)); }};
  made.spread_host = 0.3;
  made.spread_kernels = 0.2;
  const Deviations found = made.deviations();
  CHECK_THAT(found.below, WithinRel(0.3, 1e-3));
  CHECK(found.above < 0.2); // neither is enough
}

TEST_CASE("an interval reaches as far as it does, where effects grow", "[uncertainty][closed-form]")
{
  // Ten times as much beyond a third of the way.
  const auto bent = [](double host, double) {
    const double way = -std::log(host);
    return way < 0.2 ? way : 0.2 + 10 * (way - 0.2);
  };
  const Deviations found = Made{bent}.deviations();
  CHECK_THAT(kHalf * found.above, WithinRel(0.2 + 10 * (kHalf * 0.4 - 0.2), 1e-6));
}

TEST_CASE("what follows its parameters in proportion has the deviation that they make together",
          "[uncertainty][closed-form]")
{
  Made made{[](double host, double kernels) { return -std::log(host) - 3 * std::log(kernels); }};
  CHECK_THAT(made.deviations().above, WithinRel(0.5, 1e-6));
  CHECK(made.runs == 2); // one for each end
  made.correlation = 0.5;
  const double together = std::sqrt(0.4 * 0.4 + 0.3 * 0.3 + 0.4 * 0.3);
  CHECK_THAT(made.deviations().below, WithinRel(together, 1e-6));
  CHECK(made.runs == 2);
  made.spread_host = made.spread_kernels = 0.005; // less than is worth a run
  made.deviations();
  CHECK(made.runs == 0);
}

TEST_CASE("values of an object that no file has stay where they were shifted to",
          "[uncertainty][closed-form]")
{
  // Both stand in one object; the kernels' is looked at where the host's was shifted to.
  auto document = std::make_shared<Document>();
  const Point point{{}, document, nullptr};
  std::vector<Variable> variables;
  for (const auto& [name, spread] : {std::pair{"host", 0.4}, std::pair{"kernels", 0.1}}) {
    Variable variable{name, "gpu", {}, spread};
    variable.at.push_back({std::string("/o/") + name, {1, "", 1}, 0, 1e9, "/o", "x"});
    variables.push_back(variable);
  }
  const RatesOf rates = [](const Point& at, bool) {
    Json laid = {{"o", Json::object()}};
    if (at.document->overlay)
      for (const OverlayEntry& entry : at.document->overlay->entries)
        laid[Json::json_pointer(entry.pointer)] = entry.value;
    return LogRates{-std::log(
        std::max(1.3 * laid.at("o").value("host", 1.0), laid.at("o").value("kernels", 1.0)))};
  };
  const AskedQuantity quantity{rates, rates(point, true).front(), 0, kHalf};
  const LinearEffects effects = linear_effects(point, rates, variables);
  const Deviations found =
      deviations_to_ends(point, variables, effects, {{1, 0}, {0, 1}}, quantity);
  Made same{[](double host, double kernels) { return -std::log(std::max(1.3 * host, kernels)); }};
  CHECK_THAT(found.above, WithinRel(same.deviations().above, 0.02));
}

TEST_CASE("correlated parameters move along to the end", "[uncertainty][closed-form]")
{
  // The host alone counts until it is a third faster, but kernels go with it.
  Made made{[](double host, double kernels) {
    return -std::log(std::max(host, 0.7)) + (host < 0.7 ? -std::log(kernels) : 0);
  }};
  made.correlation = 1;
  const double end = -std::log(0.7) + kHalf * 0.1; // both by as many deviations
  CHECK_THAT(kHalf * made.deviations().above, WithinRel(end, 1e-6));
}

} // namespace foretrain::interval_ends_test
