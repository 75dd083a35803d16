#include "experiments/run/divided_jobs.hpp"

#include "experiments/run/plan_exchanges.hpp"
#include "models/plans/divided.hpp"

namespace foretrain::experiments {

namespace {

// Nodes on which other jobs have GPUs.
std::vector<bool> busy_nodes(const ResolvedExperiment& e, std::size_t job)
{
  std::vector<bool> busy(static_cast<std::size_t>(e.nodes), false);
  for (std::size_t other = 0; other < e.jobs.size(); ++other)
    for (const auto& place : e.jobs[other].ranks)
      if (other != job)
        busy[static_cast<std::size_t>(place.node)] = true;
  return busy;
}

models::WorkPlan plan_of(const ResolvedExperiment& e, std::size_t i, models::Fidelity fidelity)
{
  const ResolvedJob& job = e.jobs[i];
  const models::StepSetting& setting = job.transformer->step;
  PlanExchanges exchanges({e.platform, job.stack, job.library, e.nodes, job.ranks}, setting.memory,
                          fidelity);
  const models::StepResult step = models::large_step(setting, exchanges);
  models::DividedJob divided{job.spec.name, setting, step, {}, busy_nodes(e, i)};
  for (const auto& place : job.ranks)
    divided.nodes.push_back(place.node);
  return models::divided_plan(divided, exchanges);
}

} // namespace

models::WorkPlan plan_of(const LargeExperiment& e, models::Fidelity fidelity)
{
  const models::StepSetting& setting = e.job.setting;
  PlanExchanges exchanges(e, fidelity);
  const models::StepResult step = models::large_step(setting, exchanges);
  models::DividedJob job{e.job.spec.name, setting, step, {}, {}};
  for (int rank = 0; rank < e.job.spec.gpus; ++rank)
    job.nodes.push_back(rank / e.gpus_per_node);
  job.busy.assign(static_cast<std::size_t>(e.nodes), false);
  return models::divided_plan(job, exchanges);
}

ResolvedExperiment ready_to_run(const Point& point, models::Fidelity fidelity)
{
  ResolvedExperiment e = resolve(point);
  for (std::size_t i = 0; i < e.jobs.size(); ++i)
    if (is_divided(e.jobs[i]))
      e.jobs[i].plan = std::make_shared<const models::WorkPlan>(plan_of(e, i, fidelity));
  return e;
}

} // namespace foretrain::experiments
