#include "experiments/validate/validation_json.hpp"
#include "sim/base/version.hpp"

#include <algorithm>
#include <cmath>

namespace foretrain::experiments {

namespace {

using Rows = std::vector<const Comparison*>;

Json to_json(const ErrorSummary& errors)
{
  Json json = {{"rows", errors.rows}};
  if (errors.rows > 0) {
    json["mean"] = errors.mean;
    json["max"] = errors.maximum;
    json["bias"] = errors.bias;
    json["worst"] = errors.worst;
  }
  return json;
}

Json to_json(const Summary& summary)
{
  Json json = to_json(summary.errors);
  if (summary.ratios.rows > 0)
    json["ratios"] = to_json(summary.ratios);
  if (summary.pairs > 0)
    json["rankings"] = {{"pairs", summary.pairs}, {"right", summary.right_pairs}};
  if (summary.intervals > 0)
    json["coverage"] = {{"rows", summary.intervals}, {"inside", summary.covered}};
  return json;
}

// Largest error first; rows without prediction before all.
Rows worst_first(Rows rows)
{
  const auto weight = [](const Comparison* it) {
    return it->problem.empty() ? std::abs(it->error()) : std::numeric_limits<double>::infinity();
  };
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const Comparison* a, const Comparison* b) { return weight(a) > weight(b); });
  return rows;
}

template <class Keep>
Rows kept(const Rows& rows, const Keep& keep)
{
  Rows some;
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(some),
               [&](const Comparison* it) { return keep(*it); });
  return some;
}

std::vector<std::string> parts_of(const Rows& rows)
{
  std::vector<std::string> parts;
  for (const Comparison* it : rows)
    if (std::find(parts.begin(), parts.end(), it->row.part) == parts.end())
      parts.push_back(it->row.part);
  return parts;
}

// One entry for each regime that occurs, in the order of kRegimes.
template <class Put>
void each_regime(const Rows& rows, const Put& put)
{
  for (const std::string& regime : kRegimes)
    if (const Rows mine = kept(rows, [&](const Comparison& it) { return it.row.regime == regime; });
        !mine.empty())
      put(regime, mine);
}

// Of jobs that were measured, so that they fitted: how many are told to. Null where no run tells.
Json memory_of(const Rows& rows)
{
  int told = 0;
  Json not_fitting = Json::array();
  for (const Comparison* it : rows) {
    told += it->fits ? 1 : 0;
    if (it->fits && !*it->fits)
      not_fitting.push_back(it->row.id);
  }
  if (told == 0)
    return nullptr;
  const int fit = told - static_cast<int>(not_fitting.size());
  return {{"rows", told}, {"fit", fit}, {"not_fitting", not_fitting}};
}

} // namespace

Json to_json(const SuitePlan& plan, const Comparison& it)
{
  const double si = measured_unit(it.row.unit).si;
  Json json = {{"suite", plan.suites[it.row.suite].name},
               {"id", it.row.id},
               {"part", it.row.part},
               {"regime", it.row.regime},
               {"role", word_of(it.row.role)},
               {"unit", it.row.unit},
               {"measured", it.row.measured / si}};
  if (it.row.spread > 0)
    json["spread"] = it.row.spread / si;
  if (it.problem.empty()) {
    json["predicted"] = it.predicted / si;
    if (it.has_interval()) {
      json["low"] = it.low / si;
      json["high"] = it.high / si;
      json["covered"] = it.covered();
    }
    json["error"] = it.error();
    if (it.fits)
      json["fits"] = *it.fits;
  } else {
    json["problem"] = it.problem;
  }
  for (const auto& [key, text] : {std::pair{"group", &it.row.group},
                                  {"ratio_of", &it.row.ratio_of},
                                  {"anchor", &it.row.anchor},
                                  {"source", &it.row.source}})
    if (!text->empty())
      json[key] = *text;
  return json;
}

Verdict judge(const SuitePlan& plan, const std::vector<Comparison>& comparisons,
              const RunOptions& options, bool changed)
{
  Verdict verdict;
  Json& result = verdict.result;
  result = {{"version", version()}, {"seed", options.seed}};
  Rows counted;
  result["suites"] = Json::array();
  for (std::size_t i = 0; i < plan.suites.size(); ++i) {
    Rows rows;
    for (const Comparison& it : comparisons)
      if (it.row.suite == i)
        rows.push_back(&it);
    verdict.gates.emplace_back();
    if (rows.empty())
      continue;
    const auto with_role = [&](RowRole role) {
      return kept(rows, [&](const Comparison& it) { return it.row.role == role; });
    };
    const Rows mine = with_role(RowRole::validation);
    counted.insert(counted.end(), mine.begin(), mine.end());
    Json suite = {{"suite", plan.suites[i].name}};
    if (!plan.suites[i].description.empty())
      suite["description"] = plan.suites[i].description;
    if (Json memory = memory_of(rows); !memory.is_null())
      suite["memory"] = std::move(memory);
    const auto gates = load_gates(plan.suites[i]).gates;
    suite["regimes"] = Json::array();
    each_regime(mine, [&](const std::string& regime, const Rows& some) {
      const Summary summary = summarise(some, comparisons);
      Json entry = {{"regime", regime}};
      entry.update(to_json(summary));
      verdict.gates.back().gates.push_back(gate_for(regime, summary.errors));
      const auto gate = std::find_if(gates.begin(), gates.end(),
                                     [&](const Gate& it) { return it.regime == regime; });
      if (gate != gates.end() && !changed) {
        const auto lines = passed_gates(*gate, summary.errors);
        entry["gate"] = {{"mean", gate->mean}, {"max", gate->maximum}, {"held", lines.empty()}};
        for (const auto& line : lines)
          verdict.passed.push_back(plan.suites[i].name + ": " + line);
      }
      suite["regimes"].push_back(std::move(entry));
    });
    const auto add_parts = [&](const std::string& key, const Rows& some) {
      suite[key] = Json::array();
      for (const std::string& part : parts_of(some)) {
        Json entry = {{"part", part}};
        entry.update(to_json(summarise(
            kept(some, [&](const Comparison& it) { return it.row.part == part; }), comparisons)));
        suite[key].push_back(std::move(entry));
      }
    };
    suite["rows"] = Json::array();
    for (const auto& [role, word] : choices(RowRole{})) {
      const Rows some = with_role(role);
      add_parts(role == RowRole::validation ? "parts" : std::string(word), some);
      for (const Comparison* it : worst_first(some))
        suite["rows"].push_back(to_json(plan, *it));
    }
    result["suites"].push_back(std::move(suite));
  }
  result["regimes"] = Json::array();
  each_regime(counted, [&](const std::string& regime, const Rows& some) {
    Json entry = {{"regime", regime}};
    entry.update(to_json(summarise(some, comparisons)));
    result["regimes"].push_back(std::move(entry));
  });
  return verdict;
}

} // namespace foretrain::experiments
