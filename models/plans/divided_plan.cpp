#include "models/plans/divided.hpp"

#include "sim/base/normal_scores.hpp"

#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace foretrain::models {

namespace {

// "TP 8, PP 4, DP 2, 1f1b, 16 micro-batches".
std::string plan_summary(const MemorySetting& setting)
{
  const ParallelPlan& plan = setting.plan;
  std::vector<std::string> parts;
  const auto add = [&](const char* what, int count) {
    if (count > 1)
      parts.push_back(fmt::format("{} {}", what, count));
  };
  add("TP", plan.tensor);
  add("CP", plan.context);
  add("PP", plan.pipeline);
  add("EP", plan.expert);
  add("DP", setting.batch.data);
  if (plan.zero > 0)
    parts.push_back(fmt::format("ZeRO {}", plan.zero));
  if (plan.pipeline > 1)
    parts.emplace_back(word_of(plan.schedule));
  parts.push_back(fmt::format("{} micro-batch{}", setting.batch.micro_batches,
                              setting.batch.micro_batches == 1 ? "" : "es"));
  return fmt::format("{}", fmt::join(parts, ", "));
}

} // namespace

DividedPlan divided_plan(const StepSetting& s, ExchangeTimes& exchanges,
                         const Neighbours* neighbours, bool sets)
{
  PlannedStep step = plan_step(s, exchanges);
  DividedPlan divided;
  WorkPlan& plan = divided.work;
  plan.program = divided_program(s, step, exchanges, neighbours, sets);
  plan.samples_per_step = s.memory.batch.global_batch;
  plan.step_variation = s.step_variation();
  plan.summary = plan_summary(s.memory);
  if (s.memory.plan.pipeline > 1)
    divided.pipeline = std::move(step.pipeline);
  return divided;
}

PlanTime time_of_plan(const StepSetting& s, ExchangeTimes& exchanges)
{
  const sim::Program program =
      divided_program(s, plan_step(s, exchanges), exchanges, nullptr, false);
  const sim::WorkOrder order(program);
  sim::StepDates dates(program, order);
  // Devices of a stage wait for the slowest of them.
  const double slowest = std::exp(std::hypot(s.step_variation(), s.speed_variation) *
                                  sim::largest_normal_score(program.ranks.front().stands_for));
  std::vector<Seconds> lengths;
  for (const sim::Operation& op : program.operations)
    lengths.push_back(sim::length_alone(op, slowest));
  sim::evaluate(lengths, Seconds(0), dates);
  PlanTime time;
  time.step = dates.finished(dates.last());
  time.shares = sim::shares_of(dates, Seconds(0), time.step,
                               std::vector<double>(program.ranks.size(), 1 / slowest));
  return time;
}

} // namespace foretrain::models
