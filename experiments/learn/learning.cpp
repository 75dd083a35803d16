#include "experiments/learn/learning.hpp"

#include "experiments/learn/known_fit.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

constexpr double kNoWorse = 5e-4;    // mean error of a profile over that of the presets, held back
constexpr double kSeen = 1e-6;       // the same on what the fit has seen: rounding
constexpr double kHopeless = 0.5;    // error beyond which a profile is of something else
constexpr std::size_t kThird = 3;    // every third measurement is held back
constexpr double kCorrelated = 0.05; // below, a correlation is not worth a line

double rounded(double value, int digits)
{
  return std::stod(fmt::format("{:.{}g}", value, digits));
}

Json json_of(Measure measure, int digits)
{
  measure.value = rounded(measure.value, digits);
  if (measure.unit.empty())
    return measure.value;
  return to_text(measure);
}

// What is left over, and the measurements that stand out.
calibration::ProfileResiduals leftovers(const FitTask& task, const calibration::Fit& fit,
                                        std::vector<calibration::ProfileOutlier>& outliers)
{
  calibration::ProfileResiduals left;
  for (std::size_t i = 0; i < fit.rows.size(); ++i) {
    const Observation& m = task.measurements[i];
    if (m.part)
      continue;
    const double ratio = std::exp(fit.rows[i].residual * m.spread);
    ++left.measurements;
    left.mean += std::abs(ratio - 1);
    left.maximum = std::max(left.maximum, std::abs(ratio - 1));
    if (fit.rows[i].outlier)
      outliers.push_back({m.where, fmt::format("{}: {:.4g} measured, {:.4g} fitted", m.what,
                                               m.value, m.value * ratio)});
  }
  left.mean = rounded(left.mean / std::max(1, left.measurements), 4);
  left.maximum = rounded(left.maximum, 4);
  return left;
}

double mean_error(const FitTask& task, const Seen& seen, const std::vector<double>& predicted)
{
  double sum = 0;
  int count = 0;
  for (std::size_t i = 0; i < predicted.size(); ++i)
    if (!seen[i] && !task.measurements[i].part) {
      sum += std::abs(predicted[i] / task.measurements[i].value - 1);
      ++count;
    }
  return sum / std::max(1, count);
}

std::vector<double> predicted_by(const FitBench& bench, const KnownFit& outcome)
{
  std::vector<double> values;
  for (const auto& parameter : outcome.fit.parameters)
    values.push_back(parameter.value);
  return bench.predict(outcome.knobs, values);
}

// What rates were learnt for: a fit that follows all but the largest has learnt something else.
void judge_largest(FitCheck& check, const FitTask& task, const std::vector<double>& predicted)
{
  for (std::size_t i = 0; i < predicted.size(); ++i) {
    const Observation& it = task.measurements[i];
    const double missed = std::exp(std::abs(std::log(predicted[i] / it.value))) - 1;
    if (!it.largest || missed <= check.missed)
      continue;
    check.missed = missed;
    check.largest = fmt::format("{}: {}: {:.4g} measured, {:.4g} fitted", it.where, it.what,
                                it.value, predicted[i]);
  }
}

// Every third measurement is left out, in the order of the logs' names, however they were given.
Seen all_but_a_third(const FitTask& task)
{
  std::multimap<std::string, std::size_t> by_log;
  for (std::size_t i = 0; i < task.measurements.size(); ++i) {
    const std::string& where = task.measurements[i].where;
    by_log.emplace(where.substr(0, where.rfind(':')), i);
  }
  Seen seen(task.measurements.size());
  std::size_t rank = 0;
  for (const auto& [log, i] : by_log)
    seen[i] = rank++ % kThird != 1;
  return seen;
}

FitCheck compared(const FitTask& task, const FitBench& bench, const KnownFit& whole)
{
  FitCheck check;
  check.source = task.source;
  Seen seen(task.measurements.size(), false);
  KnownFit judged = whole;
  if (task.hold_back) {
    const Seen most = all_but_a_third(task);
    KnownFit outcome = fit_known(task, bench, most);
    if (outcome.knobs == whole.knobs) {
      check.held_back = std::any_of(most.begin(), most.end(), [](bool it) { return !it; });
      if (check.held_back) {
        seen = most;
        judged = std::move(outcome);
      }
    }
  }
  for (std::size_t i = 0; i < seen.size(); ++i)
    check.measurements += !seen[i] && !task.measurements[i].part ? 1 : 0;
  check.presets = mean_error(task, seen, bench.predict({}, {}));
  check.profile = mean_error(task, seen, predicted_by(bench, judged));
  judge_largest(check, task, predicted_by(bench, whole));
  check.objection = task.objection.empty() ? objection_to(check) : task.objection;
  return check;
}

} // namespace

std::string objection_to(const FitCheck& check)
{
  const std::string errors =
      fmt::format("{:.1f} % off{}, the presets {:.1f} %", 100 * check.profile,
                  check.held_back ? " on measurements held back" : "", 100 * check.presets);
  if (check.profile > check.presets + (check.held_back ? kNoWorse : kSeen))
    return "no better than the presets: " + errors;
  if (check.missed > kHopeless)
    return "misses what rates show in: " + check.largest;
  return check.profile > kHopeless ? "follows the logs too badly: " + errors : "";
}

void Learning::refuse(const std::string& parameter, const std::string& reason,
                      const std::string& measurement)
{
  learnt.refused.push_back({parameter, reason, measurement});
}

std::vector<std::string> Learning::learn(const FitTask& task)
{
  const FitBench bench(task, *profiles.overlay);
  const KnownFit outcome = fit_known(task, bench, Seen(task.measurements.size(), true));
  learnt.refused.insert(learnt.refused.end(), outcome.refused.begin(), outcome.refused.end());
  const std::vector<std::size_t>& knobs = outcome.knobs;
  const calibration::Fit& fit = outcome.fit;
  if (knobs.empty())
    return {};
  if (judging) {
    checks.push_back(compared(task, bench, outcome));
    if (const std::string& objection = checks.back().objection; !objection.empty() && !force) {
      for (const std::size_t knob : knobs)
        refuse(name_of(task.knobs[knob]), "not kept without --force: " + objection, "");
      return {};
    }
  }
  const auto left = leftovers(task, fit, learnt.outliers);
  std::vector<std::string> taught;
  std::vector<std::pair<std::size_t, int>> places; // parameter of the fit, place in the profile
  for (std::size_t k = 0; k < knobs.size(); ++k) {
    const calibration::FittedParameter& p = fit.parameters[k];
    const Part& part = task.knobs[knobs[k]].part;
    for (const Laid& it : bench.laid(knobs[k], p.value)) {
      Measure spread = it.value;
      spread.value *= p.spread / p.value;
      const Json value = json_of(it.value, 6);
      places.emplace_back(k, static_cast<int>(learnt.parameters.size()));
      learnt.parameters.push_back({part.kind, part.id, it.pointer, loose_value(value),
                                   loose_value(json_of(spread, 3)), task.source, left, task.valid});
      profiles.overlay->entries.push_back(
          {part.kind, part.id, it.pointer, value, "calibration", task.source});
      taught.push_back(part.kind + " " + part.id + " " + it.pointer);
    }
  }
  for (std::size_t a = 0; a < places.size(); ++a)
    for (std::size_t b = a + 1; b < places.size(); ++b) {
      const double rho = fit.correlation[places[a].first][places[b].first];
      if (std::abs(rho) > kCorrelated)
        learnt.correlations.push_back({places[a].second, places[b].second, rounded(rho, 3)});
    }
  return taught;
}

} // namespace foretrain::experiments
