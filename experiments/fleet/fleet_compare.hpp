// Two fleets side by side, seed by seed: the same arrivals and failures where both draw alike, so
// that what differs is what was changed.
#pragma once

#include "experiments/answers/compare_settings.hpp"
#include "experiments/fleet/fleet_points.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace foretrain::experiments {

/// B less A over seeds. Unlike a Range it may be below zero.
struct FleetDifference {
  double median = 0, low = 0, high = 0;
  double interval = 0.9;
};

struct FleetComparedQuantity {
  std::string quantity; // pointer into a fleet's answer
  Range a, b;
  FleetDifference difference; // of the same seed
  int b_less = 0, b_more = 0; // seeds
};

struct FleetComparedPair {
  Settings settings; // that both points have, of those that either side varies
  std::vector<SettingDifference> differs;
  int a_never_run = 0, b_never_run = 0; // jobs of the first seed
  std::string currency;                 // of costs; where A's and B's differ these are left out
  std::vector<FleetComparedQuantity> quantities;
};

struct FleetComparison {
  SideSize a, b;
  std::string version;
  std::uint64_t seed = 1;
  int seeds = 1;
  bool interrupted = false;
  std::vector<FleetComparedPair> pairs;
  Unmatched unmatched;
  std::vector<std::string> warnings;
};

/// One side: a file, its points, and what they say.
struct FleetSide {
  std::string name;
  std::vector<FleetPointRun> runs;
};

/// Both with the same seeds. `where_a`, `where_b`: "POINTER=VALUE", choose points. Throws
/// UsageError when no point of A has a counterpart in B, or none has such a setting.
FleetComparison compare_fleets(const FleetSide& a, const FleetSide& b,
                               const std::vector<std::string>& where_a,
                               const std::vector<std::string>& where_b);

std::string fleet_comparison_table(const FleetComparison& comparison);
/// One row a pair and quantity.
std::string fleet_comparison_csv(const FleetComparison& comparison);

template <class V>
void describe(V& v, FleetDifference& s)
{
  v.required("median", s.median, "over seeds");
  v.required("low", s.low, "lower end");
  v.required("high", s.high, "upper end");
  v.required("interval", s.interval, "share of the seeds between them", between(0, 1));
}

template <class V>
void describe(V& v, FleetComparedQuantity& s)
{
  v.required("quantity", s.quantity, "pointer into a fleet's answer, like /wait_s/p90");
  v.required("a", s.a, "of A, over seeds");
  v.required("b", s.b, "of B, over seeds");
  v.required("difference", s.difference, "B less A, of the same seed");
  v.required("b_less", s.b_less, "seeds in which B is less than A");
  v.required("b_more", s.b_more, "seeds in which B is more than A");
}

template <class V>
void describe(V& v, FleetComparedPair& s)
{
  v.required("settings", s.settings, "of both points, as far as a sweep varies them");
  v.required("differs", s.differs, "in what the files of the two points differ");
  v.required("a_never_run", s.a_never_run,
             "jobs of A that were rejected, stuck or waiting at the end, of the first seed");
  v.required("b_never_run", s.b_never_run, "the same of B");
  v.optional("currency", s.currency, "of costs, where the clusters name it", {},
             !s.currency.empty());
  v.required("quantities", s.quantities, "each with its difference");
}

template <class V>
void describe(V& v, FleetComparison& s)
{
  v.required("a", s.a, "the first fleet");
  v.required("b", s.b, "the second fleet");
  v.required("version", s.version, "of foretrain");
  v.required("seed", s.seed, "the first");
  v.required("seeds", s.seeds, "how often each point was simulated: all with the same seeds");
  v.optional("interrupted", s.interrupted, "it was stopped before its end", {}, s.interrupted);
  v.required("pairs", s.pairs, "points that belong together");
  v.required("unmatched", s.unmatched, "points without counterpart");
  v.optional("warnings", s.warnings, "what the reader of differences has to know");
}

} // namespace foretrain::experiments
