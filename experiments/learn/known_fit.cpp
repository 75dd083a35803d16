#include "experiments/learn/known_fit.hpp"

#include "sim/base/text.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

constexpr double kDerivative = 0.01; // relative; simulated times are no smoother than that
constexpr double kHardly = 10;       // times its value that a parameter may be off
constexpr double kGained = 9;        // squares of the noise: three standard deviations
constexpr double kFurther = 1.5;     // a limit that is turned so far up limits no more
constexpr double kLower = 0.8;       // steps in which a hidden limit is turned down,
constexpr int kLowest = 12;          // and how many: to 7 %
constexpr double kLongestLatency =
    0.02;                         // seconds: no latency is longer, no rate or efficiency so low
constexpr double kShows = 0.1;    // standard deviations of a measurement
constexpr double kChanged = 0.05; // relative; what the noise of a series changes stays below
// Rows of one run share what sets runs apart: how far they scatter shows in the fit. No fit is
// believed to be better known than this part of the spread of repeated runs (1 % of a call).
constexpr double kOfOneRun = 0.2;

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

// Of measurements, relative to what they are taken to scatter by.
double noise_of(const KnownFit& known)
{
  return std::max(kOfOneRun * known.fit.noise, known.fit.scatter);
}

// Fits of a task's measurements, from one beginning or another.
class KnownFits {
public:
  KnownFits(const FitTask& task, const FitBench& bench, const Seen& seen)
      : task_(task), bench_(bench), seen_(seen)
  {
    for (std::size_t i = 0; i < task.knobs.size(); ++i) {
      const Knob& knob = task.knobs[i];
      if (!bench.matters(i)) {
        refused_.push_back({name_of(knob), "no measurement depends on it", knob.measurement});
        continue;
      }
      knobs_.push_back(i);
      parameters_.push_back({name_of(knob), begin_of(i), knob.low, knob.high});
    }
  }

  /// The fit that begins at the presets, or with one of the parameters elsewhere; without some of
  /// the knobs.
  KnownFit fitted(std::optional<std::size_t> other = {}, double begin = 0,
                  const std::vector<std::size_t>& without = {}) const
  {
    KnownFit outcome{knobs_, {}, refused_};
    auto parameters = parameters_;
    if (other)
      parameters[*other].start = begin;
    for (const std::size_t knob : without) {
      const auto at = std::ranges::find(outcome.knobs, knob) - outcome.knobs.begin();
      outcome.refused.push_back({name_of(task_.knobs[knob]),
                                 "the measurements are explained without it",
                                 task_.knobs[knob].measurement});
      outcome.knobs.erase(outcome.knobs.begin() + at);
      parameters.erase(parameters.begin() + at);
    }
    while (!parameters.empty()) {
      outcome.fit = calibration::fit(parameters, residuals(outcome.knobs),
                                     {.derivative_step = kDerivative, .enough = task_.enough});
      std::size_t worst = least_known(outcome.fit);
      const bool known = worst == parameters.size();
      for (std::size_t i = 0; known && task_.series && i < parameters.size(); ++i)
        if (rests_on_one_row(outcome, i))
          worst = i;
      if (worst == parameters.size())
        break;
      outcome.refused.push_back(
          {parameters[worst].name,
           known ? "one slow measurement alone asks for it to be the limit: it keeps the "
                   "preset's value"
                 : reason_for(outcome.fit.parameters[worst]),
           task_.knobs[outcome.knobs[worst]].measurement});
      outcome.knobs.erase(outcome.knobs.begin() + static_cast<std::ptrdiff_t>(worst));
      parameters.erase(parameters.begin() + static_cast<std::ptrdiff_t>(worst));
    }
    return outcome;
  }

  /// Fits that begin with a limit which nobody sees at the presets, or which `first` has given up
  /// since another one had taken its place, where the measurements ask for one.
  std::vector<KnownFit> with_other_limits(const KnownFit& first) const
  {
    std::vector<KnownFit> fits;
    if (first.knobs.empty())
      return fits;
    const double noise = noise_of(first);
    std::vector<double> values;
    for (const auto& parameter : parameters_)
      values.push_back(parameter.start);
    const auto here = residuals(knobs_)(values);
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      const auto at = [&](double value) {
        std::vector<double> turned = values;
        turned[i] = std::clamp(value, parameters_[i].low, parameters_[i].high);
        return residuals(knobs_)(turned);
      };
      const bool hidden = !shows(here, at(kFurther * values[i]));
      const bool kept = std::ranges::find(first.knobs, knobs_[i]) != first.knobs.end();
      if (kept && !hidden)
        continue;
      const double before = loss(here, noise);
      double best = before;
      double begin = 0;
      for (int k = 1; k <= kLowest; ++k) {
        const double value = values[i] * std::pow(kLower, k);
        if (const double it = loss(at(value), noise); it < best) {
          best = it;
          begin = value;
        }
      }
      if (begin <= parameters_[i].low || before - best <= kGained)
        continue;
      if (hidden)
        fits.push_back(fitted(i, begin));
      if (!kept)
        fits.push_back(in_the_place_of(first, i, begin));
    }
    return fits;
  }

  /// Huber's loss at the solution, of residuals in units of `noise`.
  double loss_of(const KnownFit& known, double noise) const
  {
    std::vector<double> values;
    for (const auto& p : known.fit.parameters)
      values.push_back(p.value);
    return loss(residuals(known.knobs)(values), noise);
  }

  /// The knobs that a fit has moved, in the task's order.
  std::vector<std::size_t> moved(const KnownFit& known) const
  {
    return moved_by(known, [](const calibration::FittedParameter&) { return kChanged; });
  }
  /// The same, or where there are none those that it has moved by more than it knows them to.
  std::vector<std::size_t> moved_at_all(const KnownFit& known) const
  {
    const auto clearly = moved(known);
    return !clearly.empty() ? clearly : moved_by(known, [](const calibration::FittedParameter& p) {
      return p.spread / p.value;
    });
  }

private:
  // By more than `least` of a parameter, relative.
  template <class Least>
  std::vector<std::size_t> moved_by(const KnownFit& known, const Least& least) const
  {
    std::vector<std::size_t> list;
    for (std::size_t k = 0; k < known.knobs.size(); ++k) {
      const calibration::FittedParameter& p = known.fit.parameters[k];
      if (std::abs(std::log(p.value / bench_.start(known.knobs[k]))) > least(p))
        list.push_back(known.knobs[k]);
    }
    return list;
  }

  // The fit in which a knob stays that another one has taken the place of, and then others would.
  KnownFit in_the_place_of(const KnownFit& first, std::size_t parameter, double begin) const
  {
    std::vector<std::size_t> without = limits_of(first);
    while (true) {
      KnownFit outcome = fitted(parameter, begin, without);
      const std::vector<std::size_t> others = limits_of(outcome);
      if (others.empty() ||
          std::ranges::find(outcome.knobs, knobs_[parameter]) != outcome.knobs.end())
        return outcome;
      without.insert(without.end(), others.begin(), others.end());
    }
  }

  // What a fit has made a limit, or more of one: rates and efficiencies that it has turned down.
  std::vector<std::size_t> limits_of(const KnownFit& known) const
  {
    std::vector<std::size_t> list;
    for (const std::size_t knob : moved(known)) {
      const auto at = std::ranges::find(known.knobs, knob) - known.knobs.begin();
      const double now = known.fit.parameters[static_cast<std::size_t>(at)].value;
      if (bench_.start(knob) > kLongestLatency && now < bench_.start(knob))
        list.push_back(knob);
    }
    return list;
  }

  // Where a fit of the knob begins.
  double begin_of(std::size_t knob) const
  {
    const Knob& it = task_.knobs[knob];
    return std::clamp(it.begin > 0 ? it.begin : bench_.start(knob), it.low, it.high);
  }

  static double loss(const std::vector<double>& residuals, double noise)
  {
    constexpr double kBound = calibration::FitOptions{}.huber;
    double sum = 0;
    for (const double residual : residuals)
      sum += calibration::huber_loss(residual / noise, kBound);
    return sum;
  }

  static bool shows(const std::vector<double>& a, const std::vector<double>& b)
  {
    for (std::size_t i = 0; i < a.size(); ++i)
      if (std::abs(a[i] - b[i]) > kShows)
        return true;
    return false;
  }

  calibration::Residuals residuals(const std::vector<std::size_t>& knobs) const
  {
    return [this, knobs](const std::vector<double>& values) {
      const std::vector<double> predicted = bench_.predict(knobs, values);
      std::vector<double> r;
      for (std::size_t i = 0; i < predicted.size(); ++i)
        if (seen_[i])
          r.push_back(std::log(predicted[i] / task_.measurements[i].value) /
                      task_.measurements[i].spread);
      return r;
    };
  }

  // Whether a rate that limits nothing in the presets does so for one slow measurement alone:
  // without the one that gains the most by it nothing is gained.
  bool rests_on_one_row(const KnownFit& known, std::size_t parameter) const
  {
    std::vector<double> values;
    for (const auto& p : known.fit.parameters)
      values.push_back(p.value);
    const Knob& knob = task_.knobs[known.knobs[parameter]];
    const double begun = begin_of(known.knobs[parameter]);
    const double further = std::min(kFurther * begun, knob.high);
    if (values[parameter] >= begun || further == begun)
      return false;
    values[parameter] = begun;
    const auto of = residuals(known.knobs);
    const std::vector<double> without = of(values);
    values[parameter] = further;
    if (of(values) != without)
      return false;
    constexpr double kBound = calibration::FitOptions{}.huber;
    const double noise = noise_of(known);
    double gained = 0;
    double most = 0;
    for (std::size_t i = 0; i < without.size(); ++i) {
      const double by = calibration::huber_loss(without[i] / noise, kBound) -
                        calibration::huber_loss(known.fit.rows[i].residual / noise, kBound);
      gained += by;
      most = std::max(most, by);
    }
    return gained - most < kGained;
  }

  const FitTask& task_;
  const FitBench& bench_;
  const Seen& seen_;
  std::vector<std::size_t> knobs_; // those that matter
  std::vector<calibration::FitParameter> parameters_;
  std::vector<calibration::ProfileRefusal> refused_;
};

// Of fits that the measurements tell apart the better one; of the others the one that moves what
// the task names first. What explains the measurements as well is told.
KnownFit best_of(std::vector<KnownFit> all, const KnownFits& fits, const FitTask& task,
                 const FitBench& bench)
{
  double noise = std::numeric_limits<double>::infinity();
  for (const KnownFit& it : all)
    if (!it.knobs.empty())
      noise = std::min(noise, noise_of(it));
  if (std::isinf(noise))
    return std::move(all.front());
  std::vector<double> losses;
  for (const KnownFit& it : all)
    losses.push_back(fits.loss_of(it, noise));
  const double least = *std::min_element(losses.begin(), losses.end());
  std::size_t best = all.size();
  for (std::size_t i = 0; i < all.size(); ++i)
    if (losses[i] < least + kGained &&
        (best == all.size() || fits.moved(all[i]) < fits.moved(all[best])))
      best = i;
  KnownFit chosen = std::move(all[best]);
  std::vector<std::string> names;
  for (const std::size_t knob : fits.moved_at_all(chosen))
    names.push_back(name_of(task.knobs[knob]));
  for (std::size_t i = 0; i < all.size() && !names.empty(); ++i) {
    if (i == best || losses[i] >= least + kGained)
      continue;
    for (std::size_t k = 0; k < all[i].knobs.size(); ++k)
      for (calibration::ProfileRefusal& it : chosen.refused)
        if (const std::size_t knob = all[i].knobs[k]; it.parameter == name_of(task.knobs[knob]))
          it.reason = fmt::format(
              "the measurements may as well be explained by {} here: they do not tell it from {}",
              to_text(bench.laid(knob, all[i].fit.parameters[k].value).front().value),
              joined(names));
  }
  return chosen;
}

} // namespace

KnownFit fit_known(const FitTask& task, const FitBench& bench, const Seen& seen)
{
  const KnownFits fits(task, bench, seen);
  std::vector<KnownFit> all{fits.fitted()};
  if (task.series)
    for (KnownFit& it : fits.with_other_limits(all.front()))
      all.push_back(std::move(it));
  if (all.size() == 1)
    return std::move(all.front());
  return best_of(std::move(all), fits, task, bench);
}

} // namespace foretrain::experiments
