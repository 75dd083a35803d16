#include "experiments/run/limits/other_algorithm.hpp"

#include "experiments/run/limits/pulled.hpp"
#include "experiments/run/limits/remarks.hpp"
#include "sim/base/error.hpp"

#include <set>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

struct NcclVariable {
  const char* algorithm;
  const char* value; // of NCCL_ALGO
};
constexpr NcclVariable kValues[] = {
    {"ring", "Ring"}, {"tree", "Tree"}, {"in-switch", "NVLS"}, {"in-switch-tree", "NVLSTree"}};

bool chooses_by_itself(const ResolvedJob& job)
{
  return !job.plan && !job.transformer && !job.parameter_servers && !job.library.host &&
         job.framework.algorithm == "auto" && job.library.estimate != models::Estimate::idle &&
         job.ranks.size() <= kMostRanks;
}

double rate_with(const ResolvedExperiment& experiment, std::size_t job,
                 const std::string& algorithm, const RunOptions& options)
{
  ResolvedExperiment changed = experiment;
  changed.jobs[job].framework.algorithm = algorithm;
  changed.exchanges = std::make_shared<KnownExchanges>();
  try {
    return throughputs_with(changed, {}, 1, options)[job];
  } catch (const UsageError&) { // it does not apply to these GPUs
    return 0;
  }
}

} // namespace

std::string remark_algorithm(const ResolvedExperiment& experiment, std::size_t job, double rate,
                             const RunOptions& options, const JobResult& result)
{
  const ResolvedJob& resolved = experiment.jobs[job];
  if (!chooses_by_itself(resolved) ||
      result.time.exposed_communication < kWaits * result.time.total())
    return "";
  std::set<int> nodes;
  for (const platforms::GpuPlace& place : resolved.ranks)
    nodes.insert(place.node);
  double best = (1 + kClearlyFaster) * rate;
  const NcclVariable* named = nullptr;
  for (const NcclVariable& variable : kValues) {
    if (!resolved.library.chooses(variable.algorithm, static_cast<int>(nodes.size())))
      continue;
    if (const double other = rate_with(experiment, job, variable.algorithm, options);
        other > best) {
      best = other;
      named = &variable;
    }
  }
  if (named == nullptr)
    return "";
  return fmt::format("{}: {} expects less of another algorithm than it would bring: with "
                     "NCCL_ALGO={} the job would be {:.0f} % faster",
                     resolved.spec.name, resolved.library.name, named->value,
                     100 * (best / rate - 1));
}

} // namespace foretrain::experiments
