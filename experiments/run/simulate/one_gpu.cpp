#include "experiments/run/simulate/one_gpu.hpp"

#include "experiments/run/simulate/rates.hpp"
#include "experiments/run/simulate/stage.hpp"
#include "experiments/run/simulate/tenancy.hpp"

namespace foretrain::experiments {

ResolvedExperiment only(ResolvedExperiment experiment, std::size_t job)
{
  // A container or a virtual machine keeps its cores and memory when its neighbours leave.
  experiment.tenants = Tenancy(experiment).tenants();
  ResolvedJob alone = experiment.jobs[job];
  alone.spec.start = Seconds(0);
  experiment.jobs = {std::move(alone)};
  experiment.transfers.clear();
  return experiment;
}

bool runs_on_one_gpu(const ResolvedJob& job)
{
  return !job.transformer &&
         (!job.plan || (job.plan->one_gpu_by_profile && !(job.plan->one_gpu > 0)));
}

double one_gpu_throughput(const ResolvedExperiment& experiment, std::size_t job,
                          const RunOptions& options)
{
  ResolvedExperiment single = only(experiment, job);
  ResolvedJob& only_job = single.jobs.front();
  only_job.ranks = {{0, 0}};
  only_job.plan = nullptr;
  // Variables in host memory are copied for one GPU, too; an anchor of several holds that.
  if (!only_job.server_nodes.empty())
    only_job.server_nodes.assign(only_job.framework.servers->worker == models::ServerClient::gpu &&
                                         !only_job.spec.anchor
                                     ? 1
                                     : 0,
                                 0);
  single.nodes = 1;
  single.tenants.clear();
  Stage stage(single, options);
  stage.run();
  return rates_of(stage.job(0)).throughput.median;
}

} // namespace foretrain::experiments
