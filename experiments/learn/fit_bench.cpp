#include "experiments/learn/fit_bench.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

constexpr double kScreen = 1.5;     // by which a knob is turned to see whether it matters
constexpr double kHidden = 0.1;     // of a rate: it then shows where anything passes it
constexpr double kCheapened = 1e-3; // made so cheap, what the machine has would be used
constexpr double kSameValue = 1e-9; // relative change of a prediction

void lay(Overlay& overlay, const Part& part, const Laid& it)
{
  // All digits: differences of predictions are taken.
  const Json value = it.value.unit.empty()
                         ? Json(it.value.value)
                         : Json(fmt::format("{:.17g} {}", it.value.value, it.value.unit));
  overlay.entries.push_back({part.kind, part.id, it.pointer, value, "calibration"});
}

} // namespace

FitBench::FitBench(const FitTask& task, const Overlay& base) : task_(task), base_(base)
{
  here_ = task_.predict(std::make_shared<Overlay>(base_));
  for (Knob knob : task.knobs) {
    auto pointers = knob.tied;
    pointers.insert(pointers.begin(), knob.pointer);
    values_.emplace_back();
    for (const std::string& pointer : pointers) {
      knob.pointer = pointer;
      const Laid it{pointer, value_of(knob, base)};
      // Of values that are tied, those that are about something this machine does not have are
      // left out: no value of theirs would change a prediction.
      if (it.value.value > 0 && (knob.tied.empty() || changes(knob.part, {it}, kCheapened)))
        values_.back().push_back(it);
    }
  }
}

bool FitBench::matters(std::size_t knob) const
{
  const Knob& it = task_.knobs[knob];
  if (values_[knob].empty())
    return false;
  const auto turned = [&](double factor) {
    return changes(it.part, values_[knob],
                   std::clamp(start(knob) * factor, it.low, it.high) / start(knob));
  };
  return turned(1 / kScreen) || turned(kScreen) || (task_.series && turned(kHidden));
}

std::vector<Laid> FitBench::laid(std::size_t knob, double si) const
{
  std::vector<Laid> result = values_[knob];
  const double factor = si / start(knob);
  for (Laid& it : result)
    it.value.value *= factor;
  return result;
}

std::vector<double> FitBench::predict(const std::vector<std::size_t>& knobs,
                                      const std::vector<double>& si) const
{
  auto overlay = std::make_shared<Overlay>(base_);
  for (std::size_t i = 0; i < knobs.size(); ++i)
    for (const Laid& it : laid(knobs[i], si[i]))
      lay(*overlay, task_.knobs[knobs[i]].part, it);
  return task_.predict(overlay);
}

bool FitBench::changes(const Part& part, std::vector<Laid> values, double factor) const
{
  auto overlay = std::make_shared<Overlay>(base_);
  for (Laid& it : values) {
    it.value.value *= factor;
    lay(*overlay, part, it);
  }
  const auto there = task_.predict(overlay);
  for (std::size_t i = 0; i < here_.size(); ++i)
    if (std::abs(there[i] - here_[i]) > kSameValue * std::abs(here_[i]))
      return true;
  return false;
}

} // namespace foretrain::experiments
