#include "experiments/run/uncertainty/call_ranges.hpp"

#include "experiments/run/uncertainty/linear_spreads.hpp"
#include "experiments/spec/resolve.hpp"

#include <algorithm>
#include <cmath>

namespace foretrain::experiments {

namespace {

// A point that is nothing but parameters.
Point bare_point(const std::shared_ptr<const Profiles>& profiles)
{
  auto document = std::make_shared<Document>();
  document->overlay = profiles->overlay;
  return {{}, std::move(document), profiles};
}

std::vector<Variable> variables_of_calls(const CallMachineWith& machine, const Point& point)
{
  const auto uses = std::make_shared<std::vector<PresetUse>>();
  ResolvedExperiment experiment;
  const CallMachine seen = machine(noting_presets(point, uses).document->overlay);
  experiment.platform = seen.platform;
  experiment.presets = *uses;
  std::vector<Variable> variables = variables_of(experiment, point);
  std::erase_if(variables, [](const Variable& it) { return !changes_exchanges(it); });
  return variables;
}

LogRates log_rates(const std::vector<NcclTestsRow>& rows)
{
  LogRates rates;
  for (const NcclTestsRow& row : rows)
    rates.push_back(row.time > 0 ? -std::log(row.time) : 0);
  return rates;
}

} // namespace

std::vector<CallRange> call_ranges(const NcclTest& test, const CallMachineWith& machine,
                                   const NcclTestsOptions& options,
                                   const std::vector<NcclTestsRow>& rows,
                                   const std::shared_ptr<const Profiles>& profiles, double interval)
{
  const Point point = bare_point(profiles);
  const std::vector<Variable> variables = variables_of_calls(machine, point);
  const auto rates = [&](const Point& like, bool same_exchanges) {
    if (same_exchanges)
      return log_rates(rows);
    const CallMachine other = machine(like.document->overlay);
    NcclTestsOptions with = options;
    with.library = other.library;
    return log_rates(run_nccl_test(test, other.platform, other.stack, with));
  };
  const auto effects = linear_effects(point, rates, variables);
  const auto matrix = correlations(point, variables);
  std::vector<CallRange> ranges;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto left = leftovers(point, variables, effects.more, i);
    const double time = rows[i].time;
    ranges.push_back(
        {time_widened({time, time, time, interval}, deviations_of(variables, effects, matrix, i),
                      deviation_of(left)),
         parts_of(variables, effects, i, left)});
  }
  return ranges;
}

} // namespace foretrain::experiments
