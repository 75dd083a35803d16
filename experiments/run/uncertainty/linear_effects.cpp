#include "experiments/run/uncertainty/linear_effects.hpp"

#include "experiments/run/keep/range.hpp"
#include "experiments/run/simulate/anchor_runs.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace foretrain::experiments {

namespace {

// Of a logarithm; effects are scaled from it. Smaller ones drown in the framework's cycle, by which
// buckets leave earlier or later as a whole.
constexpr double kSmallestShift = 0.1;
constexpr double kLargestShift = 0.5;
// Change of a rate by several variables together that is not looked into: an interval of 1 % is
// wider than a hundred such changes by less than a hundredth of it.
constexpr double kTooLittle = 1e-4;
// Of what several variables do when all are worse: a part of it, and a change, that their effects
// need not explain.
constexpr double kUnexplainedPart = 1.0 / 3;
constexpr double kUnexplained = 0.005;

// How far a variable may be turned up or down: where the format allows no more, down. What acts
// unevenly as far as intervals of nine in ten ask: there it may meet what holds it.
double shift_for(const Variable& variable)
{
  const double asked =
      acts_unevenly(variable) ? half_width(0.9) * variable.spread : variable.spread;
  const double size = std::clamp(asked, kSmallestShift, kLargestShift);
  for (const Variable::At& at : variable.at)
    if (at.value.si() * std::exp(size) > at.largest)
      return -size;
  return size;
}

// Whether more of it takes longer: latencies and costs, where rates and efficiencies bring time.
bool is_time(const Variable& variable)
{
  const auto units = UnitsOf<Seconds>::units();
  return std::any_of(units.begin(), units.end(),
                     [&](const Unit& unit) { return unit.name == variable.at.front().value.unit; });
}

// What every step of a job meets. Most of the rest of a machine is idle in most jobs.
bool in_every_step(const Variable& variable)
{
  const std::string& pointer = variable.at.front().pointer;
  if (variable.kind == "gpu") // but its links
    return !pointer.starts_with("/nvlink") && !pointer.ends_with("_latency");
  return variable.kind == "framework" || variable.kind == "anchor" || variable.kind == "job";
}

bool too_little(const LogRates& changes)
{
  return std::all_of(changes.begin(), changes.end(),
                     [](double it) { return std::abs(it) <= kTooLittle; });
}

class Measurement {
public:
  Measurement(const Point& point, const RatesOf& rates, const std::vector<Variable>& variables)
      : point_(point), rates_(rates), variables_(variables),
        base_(rates(point, true)), effects_{{variables.size(), LogRates(base_.size(), 0)},
                                            {variables.size(), LogRates(base_.size(), 0)},
                                            base_}
  {
    Group likely, unlikely;
    for (std::size_t v = 0; v < variables.size(); ++v)
      (in_every_step(variables[v]) ? likely : unlikely).push_back(v);
    for (const std::size_t v : likely)
      measure({v});
    if (!unlikely.empty())
      look_into(unlikely, measure(unlikely));
    for (const Group& group : {likely, unlikely})
      if (!group.empty())
        look_at_worse(group);
  }

  LinearEffects result() && { return std::move(effects_); }

private:
  using Group = std::vector<std::size_t>;

  static std::pair<Group, Group> halves(const Group& group)
  {
    const auto middle = group.begin() + static_cast<std::ptrdiff_t>(group.size() / 2);
    return {{group.begin(), middle}, {middle, group.end()}};
  }

  // Changes of the rates when these variables are shifted together; in one direction, lest they
  // cancel out.
  LogRates measure(const Group& group)
  {
    if (group.size() == 1)
      return measure_alone(group.front());
    std::vector<double> shift(variables_.size(), 0);
    for (const std::size_t v : group)
      shift[v] = (is_time(variables_[v]) ? -1 : 1) * shift_for(variables_[v]);
    if (const auto changes = changes_with(shift, group))
      return *changes;
    for (const std::size_t v : group)
      measure_alone(v);
    return LogRates(base_.size(), 0); // all are known
  }

  LogRates measure_alone(std::size_t v)
  {
    const Variable& variable = variables_[v];
    std::vector<double> shift(variables_.size(), 0);
    for (const int direction : {1, -1}) {
      shift[v] = direction * shift_for(variable);
      if (const auto changes = changes_with(shift, {v})) {
        effects_.more[v] = effects_.less[v] = per_deviation(*changes, variable, shift[v]);
        if (shift[v] > 0 && acts_unevenly(variable) && !too_little(*changes))
          measure_less(v, std::move(shift));
        return *changes;
      }
    }
    return LogRates(base_.size(), 0);
  }

  // The same way down as `shift` went up.
  void measure_less(std::size_t v, std::vector<double> shift)
  {
    shift[v] = -shift[v];
    if (const auto changes = changes_with(shift, {v}))
      effects_.less[v] = per_deviation(*changes, variables_[v], shift[v]);
  }

  static LogRates per_deviation(LogRates changes, const Variable& variable, double shift)
  {
    for (double& it : changes)
      it *= variable.spread / shift;
    return changes;
  }

  // Nothing where the shift contradicts an anchor.
  std::optional<LogRates> changes_with(const std::vector<double>& shift, const Group& group)
  {
    const bool same_exchanges = std::none_of(group.begin(), group.end(), [&](std::size_t v) {
      return changes_exchanges(variables_[v]);
    });
    try {
      LogRates changes = rates_(shifted(point_, variables_, shift), same_exchanges);
      for (std::size_t i = 0; i < changes.size(); ++i)
        changes[i] -= base_[i];
      return changes;
    } catch (const UnreachedRate&) {
      return std::nullopt;
    }
  }

  // Halves a group that changes the rates by so much, until each variable that does is alone. What
  // one half does not explain is the other's, which is so found without a run; where one half
  // explains all the other is looked at, too: together the first may hide it, as where a limit
  // moves on.
  void look_into(const Group& group, const LogRates& changes)
  {
    if (group.size() == 1 || too_little(changes))
      return;
    const auto [first, second] = halves(group);
    const LogRates of_first = measure(first);
    look_into(first, of_first);
    LogRates of_second = changes;
    for (std::size_t i = 0; i < changes.size(); ++i)
      of_second[i] -= of_first[i];
    const bool hidden = too_little(of_second) && !too_little(of_first);
    if (hidden || (second.size() == 1 && !too_little(of_second)))
      of_second = measure(second);
    look_into(second, of_second);
  }

  // What is better changes nothing where another limit is as near, or not much; what is worse may.
  // Halves a group whose effects do not explain what it does when all of it is worse.
  void look_at_worse(const Group& group)
  {
    std::vector<double> shift(variables_.size(), 0);
    LogRates expected(base_.size(), 0);
    for (const std::size_t v : group) {
      const double size = shift_for(variables_[v]);
      shift[v] = is_time(variables_[v]) ? size : -std::abs(size);
      const LogRates& effects = side(v, shift[v]);
      for (std::size_t i = 0; i < expected.size(); ++i)
        expected[i] += effects[i] * shift[v] / variables_[v].spread;
    }
    const auto changes = changes_with(shift, group);
    if (changes && is_explained(*changes, expected))
      return;
    if (group.size() > 1) {
      const auto [first, second] = halves(group);
      look_at_worse(first);
      look_at_worse(second);
    } else if (changes) {
      const std::size_t v = group.front();
      side(v, shift[v]) = per_deviation(*changes, variables_[v], shift[v]);
    }
  }

  LogRates& side(std::size_t v, double shift)
  {
    return shift > 0 ? effects_.more[v] : effects_.less[v];
  }

  static bool is_explained(const LogRates& changes, const LogRates& expected)
  {
    for (std::size_t i = 0; i < changes.size(); ++i) {
      const double most = std::max(std::abs(changes[i]), std::abs(expected[i]));
      if (std::abs(changes[i] - expected[i]) > std::max(kUnexplained, kUnexplainedPart * most))
        return false;
    }
    return true;
  }

  const Point& point_;
  const RatesOf& rates_;
  const std::vector<Variable>& variables_;
  LogRates base_;
  LinearEffects effects_;
};

} // namespace

bool changes_exchanges(const Variable& variable)
{
  if (variable.kind != "gpu")
    return !in_every_step(variable);
  return std::any_of(variable.at.begin(), variable.at.end(), [](const Variable::At& at) {
    return at.pointer.starts_with("/nvlink") || at.pointer.starts_with("/pcie") ||
           at.pointer.ends_with("_latency") || at.pointer.find("memory") != std::string::npos;
  });
}

bool acts_unevenly(const Variable& variable)
{
  const std::string& pointer = variable.at.front().pointer;
  if (variable.kind == "library")
    return pointer.starts_with("/call_time");
  if (variable.kind == "gpu")
    return pointer.starts_with("/nvlink");
  if (variable.kind == "framework") // there are cores enough, or not
    return pointer == "/host_threads" || pointer.starts_with("/input/");
  return variable.kind == "disk" || variable.kind == "storage" || variable.kind == "nic" ||
         variable.kind == "network" || variable.kind == "cpu" || variable.kind == "fabric";
}

LinearEffects linear_effects(const Point& point, const RatesOf& rates,
                             const std::vector<Variable>& variables)
{
  return Measurement(point, rates, variables).result();
}

} // namespace foretrain::experiments
