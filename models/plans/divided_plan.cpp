#include "models/plans/divided.hpp"

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

WorkPlan divided_plan(const DividedJob& job, ExchangeTimes& exchanges)
{
  const StepSetting& s = job.setting;
  WorkPlan plan;
  plan.program = divided_program(job, exchanges);
  plan.samples_per_step = s.memory.batch.global_batch;
  plan.memory = memory_parts(fullest_stage(s.memory).second);
  plan.step_variation = std::hypot(s.variation, s.speed_variation);
  plan.summary = plan_summary(s.memory);
  return plan;
}

} // namespace foretrain::models
