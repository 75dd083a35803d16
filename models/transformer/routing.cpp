#include "models/transformer/routing.hpp"

#include <algorithm>
#include <cmath>

namespace foretrain::models {

namespace {

// Places of so many that are met by `choices`, each as likely.
double distinct(double places, double choices)
{
  return places * (1 - std::pow(1 - 1 / places, choices));
}

// Of so many things, ways to choose some.
double ways(int all, int chosen)
{
  double product = chosen >= 0 && chosen <= all ? 1 : 0;
  for (int i = 0; i < chosen; ++i)
    product *= static_cast<double>(all - i) / (i + 1);
  return product;
}

} // namespace

double places_reached(const Transformer& t, int places)
{
  const int groups = t.routing_groups;
  if (groups == 0)
    return distinct(places, t.top_k);
  if (groups < places) // each on several places
    return distinct(static_cast<double>(places) * t.routed_groups / groups, t.top_k);
  const int of_place = groups / places;
  double missed = 0; // probability that a place has none of a token's experts
  for (int met = 0; met <= std::min(of_place, t.routed_groups); ++met)
    missed += ways(of_place, met) * ways(groups - of_place, t.routed_groups - met) /
              ways(groups, t.routed_groups) *
              std::pow(1 - static_cast<double>(met) / t.routed_groups, t.top_k);
  return places * (1 - missed);
}

} // namespace foretrain::models
