// How many places a token's experts are on.
#include "models/transformer/routing.hpp"

#include "tests/support/catch.hpp"

#include <bit>
#include <random>
#include <set>

namespace foretrain::models::routing_test {

namespace {

Transformer routed(int groups, int to)
{
  Transformer t;
  t.experts = 256;
  t.top_k = 8;
  t.routing_groups = groups;
  t.routed_groups = to;
  return t;
}

// By drawing tokens' groups and experts.
double drawn(const Transformer& t, int places)
{
  std::mt19937_64 random(7);
  double sum = 0;
  constexpr int kTokens = 100'000;
  std::vector<int> groups(static_cast<std::size_t>(t.routing_groups));
  for (int token = 0; token < kTokens; ++token) {
    for (std::size_t i = 0; i < groups.size(); ++i)
      groups[i] = static_cast<int>(i);
    std::shuffle(groups.begin(), groups.end(), random);
    std::set<int> met;
    const int of_group = t.experts / t.routing_groups;
    for (int choice = 0; choice < t.top_k; ++choice) {
      const auto group = random() % static_cast<std::uint64_t>(t.routed_groups);
      const int expert = groups[group] * of_group +
                         static_cast<int>(random() % static_cast<std::uint64_t>(of_group));
      met.insert(expert / (t.experts / places));
    }
    sum += static_cast<double>(met.size());
  }
  return sum / kTokens;
}

} // namespace

TEST_CASE("a token of eight experts reaches as many places as chance says",
          "[models][transformer][closed-form]")
{
  CHECK(places_reached(routed(0, 0), 1) == 1);
  CHECK(places_reached(routed(0, 0), 4) == Approx(4 * (1 - std::pow(0.75, 8))));
  CHECK(places_reached(routed(8, 8), 8) == Approx(8 * (1 - std::pow(7.0 / 8, 8))));
}

TEST_CASE("node-limited routing reaches no more places than groups", "[models][transformer]")
{
  for (const int places : {2, 4, 8, 16, 32}) {
    CAPTURE(places);
    const Transformer t = routed(8, 4);
    CHECK(places_reached(t, places) == Approx(drawn(t, places)).epsilon(0.01));
    CHECK(places_reached(t, places) < places_reached(routed(0, 0), places));
  }
  CHECK(places_reached(routed(8, 4), 8) < 4);
  CHECK(places_reached(routed(8, 1), 8) == Approx(1));
}

} // namespace foretrain::models::routing_test
