#include "experiments/learn/fit_task.hpp"

#include "experiments/spec/preset_kinds.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

constexpr double kScreen = 1.5;      // by which a parameter is varied to see whether it matters
constexpr double kCheap = 1e-3;      // made so cheap, what the machine has would be used
constexpr double kNoEffect = 1e-9;   // relative change of a prediction
constexpr double kDerivative = 0.01; // relative; simulated times are no smoother than that
constexpr double kNoWorse = 5e-4;    // mean error of a profile over that of the presets, held back
constexpr double kSeen = 1e-6;       // the same on what the fit has seen: rounding
constexpr double kHopeless = 0.5;    // mean error beyond which a profile is of something else
constexpr std::size_t kThird = 3;    // every third measurement is held back
constexpr double kCorrelated = 0.05; // below, a correlation is not worth a line
constexpr double kHardly = 10;       // times its value that a parameter may be off
constexpr double kGained = 9;        // squares of the noise: three standard deviations

using OverlayPtr = std::shared_ptr<const Overlay>;

// Where the schema of a kind says what is taken when a file is silent.
Json default_of(const Knob& knob)
{
  Json at = preset_schema(knob.part.kind);
  for (const std::string& step : pointer_steps(knob.pointer)) {
    if (at.contains("items"))
      at = Json(at.at("items"));
    else if (at.contains("properties") && at.at("properties").contains(step))
      at = Json(at.at("properties").at(step));
    else
      return nullptr;
  }
  return at.contains("default") ? at.at("default") : Json();
}

Measure measure_of(const Json& json)
{
  if (json.is_number())
    return {json.get<double>(), "", 1};
  return parse_measure(json.get<std::string>()).value_or(Measure{});
}

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

// A value laid over a preset, while it is fitted.
struct Laid {
  std::string pointer;
  Measure value;
};

// A fit under way: for each knob those of its values that matter, laid over the presets.
class Bench {
public:
  Bench(const FitTask& task, const Learning& learning)
      : task_(task), base_(*learning.profiles.overlay)
  {
    here_ = task_.predict(std::make_shared<Overlay>(base_));
    for (Knob knob : task.knobs) {
      auto pointers = knob.tied;
      pointers.insert(pointers.begin(), knob.pointer);
      values_.emplace_back();
      for (const std::string& pointer : pointers) {
        knob.pointer = pointer;
        const Laid it{pointer, value_of(knob, *learning.profiles.overlay)};
        // Of values that are tied, those that are about something this machine does not have are
        // left out: no value of theirs would change a prediction.
        if (it.value.value > 0 && (knob.tied.empty() || changes(knob.part, {it}, kCheap)))
          values_.back().push_back(it);
      }
    }
  }

  /// Whether any prediction changes when the knob is turned up or down.
  bool matters(std::size_t knob) const
  {
    const Knob& it = task_.knobs[knob];
    if (values_[knob].empty())
      return false;
    const auto turned = [&](double factor) {
      return changes(it.part, values_[knob],
                     std::clamp(start(knob) * factor, it.low, it.high) / start(knob));
    };
    return turned(1 / kScreen) || turned(kScreen);
  }
  double start(std::size_t knob) const { return values_[knob].front().value.si(); }

  /// What the knob at `si` lays over its preset.
  std::vector<Laid> laid(std::size_t knob, double si) const
  {
    std::vector<Laid> result = values_[knob];
    const double factor = si / start(knob);
    for (Laid& it : result)
      it.value.value *= factor;
    return result;
  }

  std::vector<double> predict(const std::vector<std::size_t>& knobs,
                              const std::vector<double>& si) const
  {
    auto overlay = std::make_shared<Overlay>(base_);
    for (std::size_t i = 0; i < knobs.size(); ++i)
      for (const Laid& it : laid(knobs[i], si[i]))
        lay(*overlay, task_.knobs[knobs[i]].part, it);
    return task_.predict(overlay);
  }

private:
  static void lay(Overlay& overlay, const Part& part, const Laid& it)
  {
    // All digits: differences of predictions are taken.
    const Json value = it.value.unit.empty()
                           ? Json(it.value.value)
                           : Json(fmt::format("{:.17g} {}", it.value.value, it.value.unit));
    overlay.entries.push_back({part.kind, part.id, it.pointer, value, "calibration"});
  }

  bool changes(const Part& part, std::vector<Laid> values, double factor) const
  {
    auto overlay = std::make_shared<Overlay>(base_);
    for (Laid& it : values) {
      it.value.value *= factor;
      lay(*overlay, part, it);
    }
    const auto there = task_.predict(overlay);
    for (std::size_t i = 0; i < here_.size(); ++i)
      if (std::abs(there[i] - here_[i]) > kNoEffect * std::abs(here_[i]))
        return true;
    return false;
  }

  const FitTask& task_;
  Overlay base_;
  std::vector<double> here_;              // predictions at the start
  std::vector<std::vector<Laid>> values_; // at the start
};

std::string reason_for(const calibration::FittedParameter& p)
{
  if (p.at_bound)
    return fmt::format("the measurements ask for {:.3g} or beyond, outside what is possible: "
                       "something else differs from the model",
                       p.value);
  if (p.without_effect)
    return "no measurement depends on it at the fitted values: something else is the limit";
  if (!p.together_with.empty())
    return "only its combination with " + joined(p.together_with) +
           " shows in the measurements: it keeps the preset's value";
  if (p.spread > kHardly * p.value)
    return "the measurements hardly depend on it";
  return fmt::format("the measurements know it only to {:.0f} %", 100 * p.spread / p.value);
}

// The unknown parameter to give up first: one that cannot be had at all, else the least known.
std::size_t least_known(const calibration::Fit& fit)
{
  std::size_t worst = fit.parameters.size();
  const auto badness = [&](std::size_t i) {
    const auto& p = fit.parameters[i];
    return p.known ? -1.0 : p.without_effect ? 1e300 : p.at_bound ? 1e200 : p.spread / p.value;
  };
  for (std::size_t i = 0; i < fit.parameters.size(); ++i)
    if (badness(i) >= 0 && (worst == fit.parameters.size() || badness(i) > badness(worst)))
      worst = i;
  return worst;
}

// The knobs that the measurements know, fitted; the others are refused on the way.
struct Outcome {
  std::vector<std::size_t> knobs;
  calibration::Fit fit;
};

using Seen = std::vector<bool>; // by measurement: whether the fit may use it

// Whether a rate that limits nothing where the fit began does so for one slow measurement alone:
// without the one that gains the most by it nothing is gained.
bool rests_on_one_row(const calibration::Fit& fit, std::size_t parameter,
                      const calibration::FitParameter& begun,
                      const calibration::Residuals& residuals)
{
  std::vector<double> values;
  for (const auto& p : fit.parameters)
    values.push_back(p.value);
  const double further = std::min(kScreen * begun.start, begun.high);
  if (values[parameter] >= begun.start || further == begun.start)
    return false;
  values[parameter] = begun.start;
  const std::vector<double> without = residuals(values);
  values[parameter] = further;
  if (residuals(values) != without)
    return false;
  constexpr double kBound = calibration::FitOptions{}.huber;
  const double noise = std::max(fit.noise, fit.scatter);
  double gained = 0;
  double most = 0;
  for (std::size_t i = 0; i < without.size(); ++i) {
    const double by = calibration::huber_loss(without[i] / noise, kBound) -
                      calibration::huber_loss(fit.rows[i].residual / noise, kBound);
    gained += by;
    most = std::max(most, by);
  }
  return gained - most < kGained;
}

Outcome fit_known(const FitTask& task, const Bench& bench, const Seen& seen, Learning& learning)
{
  Outcome outcome;
  std::vector<calibration::FitParameter> parameters;
  for (std::size_t i = 0; i < task.knobs.size(); ++i) {
    const Knob& knob = task.knobs[i];
    if (!bench.matters(i)) {
      learning.refuse(name_of(knob), "no measurement depends on it", knob.measurement);
      continue;
    }
    outcome.knobs.push_back(i);
    parameters.push_back(
        {name_of(knob),
         std::clamp(knob.begin > 0 ? knob.begin : bench.start(i), knob.low, knob.high), knob.low,
         knob.high});
  }
  const auto residuals = [&](const std::vector<double>& values) {
    const std::vector<double> predicted = bench.predict(outcome.knobs, values);
    std::vector<double> r;
    for (std::size_t i = 0; i < predicted.size(); ++i)
      if (seen[i])
        r.push_back(std::log(predicted[i] / task.measurements[i].value) /
                    task.measurements[i].spread);
    return r;
  };
  while (!parameters.empty()) {
    outcome.fit = calibration::fit(parameters, residuals,
                                   {.derivative_step = kDerivative, .enough = task.enough});
    std::size_t worst = least_known(outcome.fit);
    const bool known = worst == parameters.size();
    for (std::size_t i = 0; known && task.series && i < parameters.size(); ++i)
      if (rests_on_one_row(outcome.fit, i, parameters[i], residuals))
        worst = i;
    if (worst == parameters.size())
      break;
    learning.refuse(parameters[worst].name,
                    known ? "one slow measurement alone asks for it to be the limit: it keeps the "
                            "preset's value"
                          : reason_for(outcome.fit.parameters[worst]),
                    task.knobs[outcome.knobs[worst]].measurement);
    outcome.knobs.erase(outcome.knobs.begin() + static_cast<std::ptrdiff_t>(worst));
    parameters.erase(parameters.begin() + static_cast<std::ptrdiff_t>(worst));
  }
  return outcome;
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

std::vector<double> predicted_by(const Bench& bench, const Outcome& outcome)
{
  std::vector<double> values;
  for (const auto& parameter : outcome.fit.parameters)
    values.push_back(parameter.value);
  return bench.predict(outcome.knobs, values);
}

FitCheck compared(const FitTask& task, const Bench& bench, const Outcome& whole,
                  const Learning& learning)
{
  FitCheck check;
  check.source = task.source;
  Seen seen(task.measurements.size(), false);
  Outcome judged = whole;
  if (task.hold_back) {
    Seen most(task.measurements.size());
    for (std::size_t i = 0; i < most.size(); ++i)
      most[i] = i % kThird != 1;
    Learning scratch = learning;
    Outcome outcome = fit_known(task, bench, most, scratch);
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
  return check.profile > kHopeless ? "follows the logs too badly: " + errors : "";
}

std::string name_of(const Knob& knob)
{
  return knob.part.kind + " " + knob.part.id + " " + knob.pointer;
}

Part part_of(const Value& reference, const PresetKind& kind)
{
  return {kind.name, preset_id(reference, kind), resolve_preset(reference, kind)};
}

Measure value_of(const Knob& knob, const Overlay& overlay)
{
  for (auto it = overlay.entries.rbegin(); it != overlay.entries.rend(); ++it)
    if (it->kind == knob.part.kind && it->preset == knob.part.id && it->pointer == knob.pointer)
      return measure_of(it->value);
  const Json::json_pointer at(knob.pointer);
  const Json& preset = knob.part.value.json();
  const Json found = preset.contains(at) ? preset.at(at) : default_of(knob);
  if (!found.is_number() && !found.is_string())
    knob.part.value.fail(fmt::format("has no value at {} to begin a fit with", knob.pointer));
  return measure_of(found);
}

void Learning::refuse(const std::string& parameter, const std::string& reason,
                      const std::string& measurement)
{
  learnt.refused.push_back({parameter, reason, measurement});
}

std::vector<std::string> Learning::learn(const FitTask& task)
{
  const Bench bench(task, *this);
  const Outcome outcome = fit_known(task, bench, Seen(task.measurements.size(), true), *this);
  const auto& [knobs, fit] = outcome;
  if (knobs.empty())
    return {};
  if (judging) {
    checks.push_back(compared(task, bench, outcome, *this));
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
