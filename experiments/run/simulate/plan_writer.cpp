#include "experiments/run/simulate/plan_writer.hpp"

#include "experiments/run/simulate/plan_exchanges.hpp"

namespace foretrain::experiments {

namespace {

models::Neighbours neighbours_of(const ResolvedExperiment& e, std::size_t job)
{
  models::Neighbours all;
  for (const auto& place : e.jobs[job].ranks)
    all.nodes.push_back(place.node);
  all.busy.assign(static_cast<std::size_t>(e.nodes), false);
  for (std::size_t other = 0; other < e.jobs.size(); ++other)
    for (const auto& place : e.jobs[other].ranks)
      if (other != job)
        all.busy[static_cast<std::size_t>(place.node)] = true;
  return all;
}

} // namespace

models::DividedPlan write_plan(const ResolvedExperiment& e, std::size_t i,
                               models::Fidelity fidelity, PlanFor use)
{
  const ResolvedJob& job = e.jobs[i];
  const models::StepSetting& setting = job.transformer->step;
  PlanExchanges exchanges({e.platform, job.stack, job.library, e.nodes, job.ranks, e.pcie_scale},
                          setting.memory, fidelity, job.number, e.exchanges);
  models::Neighbours neighbours;
  if (use == PlanFor::simulation)
    neighbours = neighbours_of(e, i);
  models::DividedPlan plan =
      models::divided_plan(setting, exchanges, use == PlanFor::simulation ? &neighbours : nullptr,
                           use != PlanFor::evaluation);
  plan.work.program.name = job.spec.name;
  return plan;
}

} // namespace foretrain::experiments
