#include "experiments/fleet/fleet_compare.hpp"

#include "experiments/fleet/fleet_points_text.hpp"
#include "experiments/fleet/fleet_quantities.hpp"
#include "experiments/report/report_csv.hpp"
#include "experiments/report/svg_text.hpp"
#include "experiments/report/text_table.hpp"
#include "experiments/run/keep/result_json.hpp"
#include "sim/base/json_text.hpp"
#include "sim/base/text.hpp"
#include "sim/base/version.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

constexpr std::size_t kValueWidth = 60;

constexpr std::string_view kCost = "/cost";

// Those that a line of many pairs has room for.
constexpr const char* kInShort[] = {"/wait_s/mean", "/wait_s/p90", "/goodput"};

// Points of sides are matched as those of experiments.
CompareSide side_of_runs(const FleetSide& side, const std::vector<std::string>& where)
{
  CompareSide found{side.name, {}, {}};
  for (std::size_t i = 0; i < side.runs.size(); ++i) {
    const FleetPoint& point = *side.runs[i].point;
    ComparedPoint& told = found.points.emplace_back();
    told.experiment = side.name;
    told.settings = settings_json(point.settings);
    told.input = point.fleet.document->root;
    told.place = i;
  }
  keep_where(found, where);
  return found;
}

// Sums in another order differ in their last digits, and are the same.
double difference_of(double a, double b)
{
  constexpr double kSame = 1e-9;
  return std::abs(b - a) <= kSame * std::max(std::abs(a), std::abs(b)) ? 0 : b - a;
}

// Nothing where no seed has it on both sides: waits of jobs of which none ran.
std::optional<FleetComparedQuantity> compared(const FleetQuantity& quantity, const FleetPointRun& a,
                                              const FleetPointRun& b)
{
  if (quantity.of(a.answer) == nullptr || quantity.of(b.answer) == nullptr)
    return {};
  FleetComparedQuantity it;
  it.quantity = quantity.pointer;
  it.a = *quantity.of(a.answer);
  it.b = *quantity.of(b.answer);
  std::vector<double> differences;
  for (std::size_t i = 0; i < std::min(a.by_seed.size(), b.by_seed.size()); ++i) {
    const Range *of_a = quantity.of(a.by_seed[i]), *of_b = quantity.of(b.by_seed[i]);
    if (of_a == nullptr || of_b == nullptr)
      continue;
    differences.push_back(difference_of(of_a->median, of_b->median));
    it.b_less += differences.back() < 0 ? 1 : 0;
    it.b_more += differences.back() > 0 ? 1 : 0;
  }
  if (differences.empty())
    return {};
  const Range range = over_seeds(differences);
  it.difference = {range.median, range.low, range.high, range.interval};
  return it;
}

std::vector<SettingDifference> differs_of(const ComparedPair& pair)
{
  std::vector<SettingDifference> list = differing_settings(*pair.a, *pair.b);
  std::erase_if(list, [](const SettingDifference& it) { return it.pointer == "/seeds"; });
  return list;
}

Settings settings_of_pair(const ComparedPair& pair)
{
  Settings settings;
  for (const auto& item : pair.a->settings.items())
    if (value_at_point(*pair.b, item.key()) == item.value())
      settings.emplace_back(item.key(), item.value());
  return settings;
}

FleetComparedPair compared_pair(const ComparedPair& pair, const FleetPointRun& a,
                                const FleetPointRun& b)
{
  FleetComparedPair found{settings_of_pair(pair),
                          differs_of(pair),
                          never_run(a.answer.jobs),
                          never_run(b.answer.jobs),
                          a.answer.currency == b.answer.currency ? a.answer.currency : "",
                          {}};
  for (const FleetQuantity& quantity : fleet_quantities())
    if (quantity.pointer != kCost || a.answer.currency == b.answer.currency)
      if (auto it = compared(quantity, a, b))
        found.quantities.push_back(std::move(*it));
  return found;
}

// Where one of these differs, a seed does not give both the same jobs.
bool concerns_jobs(const std::string& pointer)
{
  return is_within(pointer, "/arrivals") || is_within(pointer, "/jobs/trace") ||
         is_within(pointer, "/jobs/kind");
}

void add_warnings_of(const FleetComparedPair& pair, std::set<std::string>& warnings)
{
  if (std::any_of(pair.differs.begin(), pair.differs.end(),
                  [](const auto& it) { return concerns_jobs(it.pointer); }))
    warnings.insert("jobs of A and B differ: a seed does not give both the same ones");
  if (pair.a_never_run != pair.b_never_run)
    warnings.insert(fmt::format("{} jobs of A and {} of B never run; waits, completion times and "
                                "slowdowns are of those that ran",
                                pair.a_never_run, pair.b_never_run));
}

void add_currencies(const FleetAnswer& a, const FleetAnswer& b, std::set<std::string>& warnings)
{
  const auto named = [](const FleetAnswer& of) {
    return of.currency.empty() ? "no currency" : of.currency;
  };
  if (a.cost && b.cost && a.currency != b.currency)
    warnings.insert(
        fmt::format("costs of A are in {}, of B in {}: they are not compared", named(a), named(b)));
}

std::string difference_text(const FleetQuantity& quantity, const FleetDifference& difference)
{
  const std::string median = quantity_change(quantity, difference.median);
  const std::string low = quantity_change(quantity, difference.low);
  const std::string high = quantity_change(quantity, difference.high);
  return low == high ? median : median + " (" + low + " to " + high + ")";
}

bool all_zero(const FleetComparedQuantity& it)
{
  return it.a.high == 0 && it.b.high == 0 && it.a.low == 0 && it.b.low == 0;
}

std::string pair_in_full(const FleetComparedPair& pair, int seeds)
{
  TextTable table;
  table.header = {"", "A", "B", "B - A", "B less", "B more"};
  table.texts = 1;
  for (const FleetComparedQuantity& it : pair.quantities) {
    if (all_zero(it))
      continue;
    const FleetQuantity& quantity = fleet_quantity(it.quantity);
    table.lines.push_back({quantity_name(quantity, pair.currency), quantity_range(quantity, it.a),
                           quantity_range(quantity, it.b), difference_text(quantity, it.difference),
                           fmt::format("{} of {}", it.b_less, seeds),
                           fmt::format("{} of {}", it.b_more, seeds)});
  }
  return table_text(table);
}

std::string pairs_in_lines(const FleetComparison& comparison)
{
  std::vector<std::string> pointers;
  for (const auto& [pointer, value] : comparison.pairs.front().settings)
    pointers.push_back(pointer);
  TextTable table;
  table.header = short_pointers(pointers);
  table.texts = table.header.size();
  for (const char* pointer : kInShort)
    for (const char* what : {"A ", "B ", "B - A "})
      table.header.push_back(what + std::string(fleet_quantity(pointer).name));
  for (const FleetComparedPair& pair : comparison.pairs) {
    table.lines.emplace_back();
    for (const auto& [pointer, value] : pair.settings)
      table.lines.back().push_back(clipped(value_text(value), kValueWidth));
    for (const char* pointer : kInShort) {
      const auto it = std::find_if(pair.quantities.begin(), pair.quantities.end(),
                                   [&](const auto& one) { return one.quantity == pointer; });
      const FleetQuantity& quantity = fleet_quantity(pointer);
      const bool told = it != pair.quantities.end();
      table.lines.back().push_back(told ? quantity_text(quantity, it->a.median) : "-");
      table.lines.back().push_back(told ? quantity_text(quantity, it->b.median) : "-");
      table.lines.back().push_back(told ? quantity_change(quantity, it->difference.median) : "-");
    }
  }
  return table_text(table);
}

std::string side_text(const SideSize& side)
{
  return clipped(side.name, 200) +
         (side.points > 1 ? fmt::format(" ({} points)", side.points) : std::string());
}

std::string value_or_default(const Json& value)
{
  return value.is_null() ? "(default)" : clipped(value_text(value), kValueWidth);
}

} // namespace

FleetComparison compare_fleets(const FleetSide& a, const FleetSide& b,
                               const std::vector<std::string>& where_a,
                               const std::vector<std::string>& where_b)
{
  const CompareSide side_a = side_of_runs(a, where_a), side_b = side_of_runs(b, where_b);
  FleetComparison comparison;
  comparison.a = {a.name, side_a.points.size()};
  comparison.b = {b.name, side_b.points.size()};
  comparison.version = version();
  comparison.seed = a.runs.front().answer.seed;
  comparison.seeds = a.runs.front().answer.seeds;
  std::set<std::string> warnings;
  for (const ComparedPair& pair : pairs_of(side_a, side_b)) {
    const FleetPointRun& run_a = a.runs[pair.a->place];
    const FleetPointRun& run_b = b.runs[pair.b->place];
    comparison.interrupted |= run_a.answer.interrupted || run_b.answer.interrupted;
    comparison.pairs.push_back(compared_pair(pair, run_a, run_b));
    add_warnings_of(comparison.pairs.back(), warnings);
    add_currencies(run_a.answer, run_b.answer, warnings);
    for (const FleetAnswer* answer : {&run_a.answer, &run_b.answer})
      warnings.insert(answer->warnings.begin(), answer->warnings.end());
  }
  const std::size_t pairs = comparison.pairs.size();
  comparison.unmatched = {side_a.points.size() - std::min(side_a.points.size(), pairs),
                          side_b.points.size() - std::min(side_b.points.size(), pairs)};
  comparison.warnings.assign(warnings.begin(), warnings.end());
  return comparison;
}

std::string fleet_comparison_table(const FleetComparison& comparison)
{
  std::string text = "A: " + side_text(comparison.a) + "\nB: " + side_text(comparison.b) + "\n";
  const FleetComparedPair& first = comparison.pairs.front();
  text += first.differs.empty() ? "no settings differ\n" : "they differ in\n";
  for (const SettingDifference& it : first.differs)
    text += item_text(it.pointer + ": " + value_or_default(it.a) + " -> " + value_or_default(it.b),
                      kTextColumns);
  text +=
      comparison.seeds == 1
          ? "one seed: nothing says how sure a difference is (--seeds N)\n\n"
          : fmt::format("{} seeds, each with both; ranges hold 90 % of them\n\n", comparison.seeds);
  text += comparison.pairs.size() == 1 ? pair_in_full(first, comparison.seeds)
                                       : pairs_in_lines(comparison);
  std::vector<std::string> warnings = comparison.warnings;
  if (comparison.unmatched.a + comparison.unmatched.b > 0)
    warnings.push_back(fmt::format("{} points of A and {} of B have no counterpart",
                                   comparison.unmatched.a, comparison.unmatched.b));
  if (comparison.interrupted)
    warnings.emplace_back("interrupted: this is of what has happened so far");
  if (!warnings.empty())
    text += "\nWarnings\n";
  for (const std::string& warning : warnings)
    text += item_text(warning, kTextColumns);
  return text;
}

std::string fleet_comparison_csv(const FleetComparison& comparison)
{
  std::vector<std::string> header;
  for (const auto& [pointer, value] : comparison.pairs.front().settings)
    header.push_back(pointer);
  header.insert(header.end(), {"quantity", "a", "a_low", "a_high", "b", "b_low", "b_high",
                               "difference", "difference_low", "difference_high",
                               "interval_fraction", "b_less", "b_more", "seeds"});
  std::string text = csv_line(header);
  for (const FleetComparedPair& pair : comparison.pairs)
    for (const FleetComparedQuantity& it : pair.quantities) {
      std::vector<std::string> fields;
      for (const auto& [pointer, value] : pair.settings)
        fields.push_back(value_text(value));
      fields.push_back(it.quantity);
      for (const double value :
           {it.a.median, it.a.low, it.a.high, it.b.median, it.b.low, it.b.high,
            it.difference.median, it.difference.low, it.difference.high, it.difference.interval})
        fields.push_back(fmt::format("{}", value));
      for (const int number : {it.b_less, it.b_more, comparison.seeds})
        fields.push_back(std::to_string(number));
      text += csv_line(fields);
    }
  return text;
}

} // namespace foretrain::experiments
