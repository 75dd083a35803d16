// Workloads for tests of models/fleet.
#pragma once

#include "models/fleet/simulation.hpp"
#include "sim/engine/random.hpp"

#include <cmath>
#include <string>

namespace foretrain::test {

inline models::fleet::Job job(double submit, int gpus, double work,
                              double limit = models::fleet::kNever.value())
{
  models::fleet::Job made;
  made.gpus = gpus;
  made.submit = Seconds(submit);
  made.work = Seconds(work);
  made.limit = Seconds(limit);
  return made;
}

inline models::fleet::FleetSetting one_gpu_nodes(int nodes,
                                                 const models::fleet::Policy& policy = {})
{
  models::fleet::FleetSetting setting;
  setting.shape = {nodes, 1, 0};
  setting.policy = policy;
  setting.quotas = {{}};
  return setting;
}

inline double exponential(sim::RandomStream& stream, double mean)
{
  return -mean * std::log1p(-stream.uniform());
}

inline double wait(const models::fleet::Workload& workload,
                   const models::fleet::FleetResult& result, std::size_t i)
{
  return (result.jobs[i].start - workload.jobs[i].submit).value();
}

inline double mean_wait(const models::fleet::Workload& workload,
                        const models::fleet::FleetResult& result)
{
  double sum = 0;
  for (std::size_t i = 0; i < workload.jobs.size(); ++i)
    sum += wait(workload, result, i);
  return sum / static_cast<double>(workload.jobs.size());
}

} // namespace foretrain::test
