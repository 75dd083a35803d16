#include "experiments/fleet/fleet_when.hpp"

#include "experiments/fleet/fleet_quantities.hpp"
#include "experiments/report/text_table.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/base/version.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

using namespace models::fleet;

std::optional<std::size_t> place_of_job(const Workload& workload, const std::string& id)
{
  const auto it = std::find_if(workload.jobs.begin(), workload.jobs.end(),
                               [&](const Job& job) { return job.id == id; });
  return it == workload.jobs.end()
             ? std::nullopt
             : std::optional(static_cast<std::size_t>(it - workload.jobs.begin()));
}

std::optional<Range> over_seeds_if_any(const std::vector<double>& values)
{
  return values.empty() ? std::nullopt : std::optional(over_seeds(values));
}

} // namespace

void require_job(const LoadedFleet& fleet, const std::string& job)
{
  if (!fleet.trace)
    throw UsageError("--when is about a job of a trace, and the jobs of '" +
                     excerpt(fleet.spec.name) + "' are drawn anew for each seed");
  std::vector<std::string> ids;
  for (const Job& known : fleet.trace->workload.jobs) {
    if (known.id == job)
      return;
    ids.push_back(known.id);
  }
  if (const auto left = fleet.trace->left_out_by.find(job); left != fleet.trace->left_out_by.end())
    throw UsageError("--when: job '" + excerpt(job) + "' is left out: it " +
                     what_of_one(fleet.trace->notes[left->second].what));
  const std::string meant = nearest(job, ids);
  throw UsageError("--when: no job of the trace is called '" + excerpt(job) + "'" +
                   (meant.empty() ? "" : "\n  hint: did you mean '" + meant + "'?"));
}

FleetWhenAnswer fleet_when(const LoadedFleet& fleet, std::span<const FleetRun> runs,
                           const std::string& job)
{
  require_job(fleet, job);
  FleetWhenAnswer answer;
  answer.fleet = fleet.spec.name;
  answer.version = version();
  answer.seed = runs.front().seed;
  answer.seeds = static_cast<int>(runs.size());
  answer.policy = fleet.policy_name;
  answer.job = job;
  std::vector<double> starts, waits, ends;
  std::map<std::string, int> causes;
  for (const FleetRun& run : runs) {
    const std::size_t at = place_of_job(run.workload, job).value(); // each seed has all of them
    const Job& it = run.workload.jobs[at];
    const JobOutcome& outcome = run.result.jobs[at];
    answer.queue = run.workload.queues[it.queue];
    answer.gpus = it.gpus;
    answer.submit_s = it.submit.value();
    if (outcome.waited_for != Cause::nothing)
      ++causes[text_of(outcome.waited_for)];
    if (outcome.start == kNever)
      continue;
    ++answer.starts;
    starts.push_back(outcome.start.value());
    waits.push_back((outcome.start - it.submit).value());
    if (outcome.end != kNever)
      ends.push_back(outcome.end.value());
  }
  answer.start_s = over_seeds_if_any(starts);
  answer.wait_s = over_seeds_if_any(waits);
  answer.end_s = over_seeds_if_any(ends);
  answer.waited_for.assign(causes.begin(), causes.end());
  return answer;
}

std::string fleet_when_text(const FleetWhenAnswer& answer)
{
  const FleetQuantity& time = fleet_quantity("/makespan_s");
  std::string text =
      fmt::format("{}: job {}, {} {} of queue {}, {}\n", answer.fleet, answer.job, answer.gpus,
                  answer.gpus == 1 ? "GPU" : "GPUs", answer.queue, answer.policy);
  std::vector<std::string> items;
  items.push_back("submitted at " + quantity_text(time, answer.submit_s));
  if (answer.start_s)
    items.push_back(fmt::format("starts at {}, after {}", quantity_range(time, *answer.start_s),
                                quantity_range(time, *answer.wait_s)));
  if (answer.end_s)
    items.push_back("ends at " + quantity_range(time, *answer.end_s));
  if (answer.starts < answer.seeds)
    items.push_back(fmt::format("never starts in {} of {} {}", answer.seeds - answer.starts,
                                answer.seeds, answer.seeds == 1 ? "seed" : "seeds"));
  std::vector<std::string> causes;
  for (const auto& [cause, seeds] : answer.waited_for)
    causes.push_back(
        answer.seeds == 1 ? cause : fmt::format("{} ({} of {} seeds)", cause, seeds, answer.seeds));
  if (!causes.empty())
    items.push_back("waits most for: " + joined(causes));
  for (const std::string& item : items)
    text += item_text(item, kTextColumns);
  return text;
}

} // namespace foretrain::experiments
