#include "experiments/fleet/fleet_quantities.hpp"

#include "experiments/fleet/fleet_text.hpp"
#include "experiments/report/svg_text.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

template <std::optional<FleetSpread> FleetAnswer::*Spread, Range FleetSpread::*Part>
const Range* of_jobs(const FleetAnswer& answer)
{
  return answer.*Spread ? &(*(answer.*Spread).*Part) : nullptr;
}

template <Range FleetAnswer::*Part>
const Range* of_fleet(const FleetAnswer& answer)
{
  return &(answer.*Part);
}

template <Range FleetHours::*Part>
const Range* of_hours(const FleetAnswer& answer)
{
  return &(answer.gpu_hours.*Part);
}

template <Range FleetFailures::*Part>
const Range* of_failures(const FleetAnswer& answer)
{
  return answer.failures ? &(*answer.failures.*Part) : nullptr;
}

const Range* of_drained(const FleetAnswer& answer)
{
  return answer.failures && answer.failures->drained ? &*answer.failures->drained : nullptr;
}

const Range* of_cost(const FleetAnswer& answer)
{
  return answer.cost ? &*answer.cost : nullptr;
}

const Range* of_energy(const FleetAnswer& answer)
{
  return answer.energy_kwh ? &*answer.energy_kwh : nullptr;
}

constexpr auto kWait = &FleetAnswer::wait_s;
constexpr auto kCompletion = &FleetAnswer::completion_s;
constexpr auto kSlowdown = &FleetAnswer::slowdown;
constexpr auto kTime = FleetUnit::time;
constexpr auto kNumber = FleetUnit::number;
constexpr auto kShare = FleetUnit::share;
constexpr auto kGpuHours = FleetUnit::gpu_hours;

constexpr FleetQuantity kQuantities[] = {
    {"/makespan_s", "makespan", kTime, &of_fleet<&FleetAnswer::makespan_s>},
    {"/wait_s/mean", "wait mean", kTime, &of_jobs<kWait, &FleetSpread::mean>},
    {"/wait_s/median", "wait median", kTime, &of_jobs<kWait, &FleetSpread::median>},
    {"/wait_s/p90", "wait p90", kTime, &of_jobs<kWait, &FleetSpread::p90>},
    {"/wait_s/p99", "wait p99", kTime, &of_jobs<kWait, &FleetSpread::p99>},
    {"/completion_s/mean", "completion mean", kTime, &of_jobs<kCompletion, &FleetSpread::mean>},
    {"/completion_s/median", "completion median", kTime,
     &of_jobs<kCompletion, &FleetSpread::median>},
    {"/completion_s/p90", "completion p90", kTime, &of_jobs<kCompletion, &FleetSpread::p90>},
    {"/completion_s/p99", "completion p99", kTime, &of_jobs<kCompletion, &FleetSpread::p99>},
    {"/slowdown/mean", "slowdown mean", kNumber, &of_jobs<kSlowdown, &FleetSpread::mean>},
    {"/slowdown/median", "slowdown median", kNumber, &of_jobs<kSlowdown, &FleetSpread::median>},
    {"/slowdown/p90", "slowdown p90", kNumber, &of_jobs<kSlowdown, &FleetSpread::p90>},
    {"/slowdown/p99", "slowdown p99", kNumber, &of_jobs<kSlowdown, &FleetSpread::p99>},
    {"/utilisation", "utilisation", kShare, &of_fleet<&FleetAnswer::utilisation>},
    {"/goodput", "goodput", kShare, &of_fleet<&FleetAnswer::goodput>},
    {"/ettr", "ETTR", kShare, &of_fleet<&FleetAnswer::ettr>},
    {"/gpu_hours/productive", "GPU h productive", kGpuHours, &of_hours<&FleetHours::productive>},
    {"/gpu_hours/contended", "GPU h contended", kGpuHours, &of_hours<&FleetHours::contended>},
    {"/gpu_hours/checkpoint", "GPU h checkpoint", kGpuHours, &of_hours<&FleetHours::checkpoint>},
    {"/gpu_hours/lost", "GPU h lost", kGpuHours, &of_hours<&FleetHours::lost>},
    {"/gpu_hours/restart", "GPU h restart", kGpuHours, &of_hours<&FleetHours::restart>},
    {"/gpu_hours/held", "GPU h held, waiting", kGpuHours, &of_hours<&FleetHours::held>},
    {"/gpu_hours/queued", "GPU h queued", kGpuHours, &of_hours<&FleetHours::queued>},
    {"/gpu_hours/fragmented", "GPU h fragmented", kGpuHours, &of_hours<&FleetHours::fragmented>},
    {"/gpu_hours/repair", "GPU h repair", kGpuHours, &of_hours<&FleetHours::repair>},
    {"/gpu_hours/idle", "GPU h idle", kGpuHours, &of_hours<&FleetHours::idle>},
    {"/cost", "cost", FleetUnit::amount, &of_cost},
    {"/energy_kwh", "energy, kWh", FleetUnit::amount, &of_energy},
    {"/failures/failures", "failures", kNumber, &of_failures<&FleetFailures::failures>},
    {"/failures/interruptions", "interruptions of jobs", kNumber,
     &of_failures<&FleetFailures::interruptions>},
    {"/failures/drained", "nodes drained", kNumber, &of_drained},
};

} // namespace

std::string FleetQuantity::column() const
{
  std::string words(pointer + 1);
  std::replace(words.begin(), words.end(), '/', '_');
  return words;
}

std::span<const FleetQuantity> fleet_quantities()
{
  return kQuantities;
}

const FleetQuantity& fleet_quantity(const std::string& pointer)
{
  for (const FleetQuantity& quantity : kQuantities)
    if (quantity.pointer == pointer)
      return quantity;
  throw std::logic_error("no quantity of fleets at " + pointer);
}

std::string quantity_name(const FleetQuantity& quantity, const std::string& currency)
{
  return quantity.of == &of_cost && !currency.empty() ? quantity.name + (", " + currency)
                                                      : quantity.name;
}

std::string quantity_text(const FleetQuantity& quantity, double value)
{
  switch (quantity.unit) {
  case FleetUnit::time:
    return duration_text(value);
  case FleetUnit::share:
    return percent_of(value);
  case FleetUnit::gpu_hours:
    return fmt::format("{:.1f}", value);
  case FleetUnit::amount:
    return number_text(value, true);
  case FleetUnit::number:
    break;
  }
  return fmt::format("{:.4g}", value);
}

std::string quantity_change(const FleetQuantity& quantity, double value)
{
  const auto size = [&](double of) {
    return quantity.unit == FleetUnit::share ? fmt::format("{:.1f} points", 100 * of)
                                             : quantity_text(quantity, of);
  };
  const std::string text = size(std::abs(value));
  return text == size(0) ? text : (value < 0 ? "-" : "+") + text;
}

std::string quantity_range(const FleetQuantity& quantity, const Range& range)
{
  const std::string median = quantity_text(quantity, range.median);
  const std::string low = quantity_text(quantity, range.low),
                    high = quantity_text(quantity, range.high);
  return low == high ? median : median + " (" + low + " to " + high + ")";
}

} // namespace foretrain::experiments
