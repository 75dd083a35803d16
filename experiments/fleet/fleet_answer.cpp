#include "experiments/fleet/fleet_answer.hpp"

#include "experiments/fleet/fleet_checks.hpp"
#include "sim/base/text.hpp"
#include "sim/base/version.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <numeric>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

using namespace models::fleet;

constexpr double kInterval = 0.9;
constexpr double kBoundedRun = 10; // seconds; Feitelson et al., JSSPP 1997

template <class Of>
Range over_runs(std::span<const FleetRun> runs, const Of& of)
{
  std::vector<double> values;
  for (const FleetRun& run : runs)
    values.push_back(of(run));
  return over_seeds(values);
}

bool ran(const JobOutcome& outcome)
{
  return outcome.state == JobState::completed || outcome.state == JobState::timeout;
}

// Values of the jobs that ran and are in a group, over the seeds that have such jobs.
template <class Of, class In>
std::optional<FleetSpread> spread(std::span<const FleetRun> runs, const Of& of, const In& in)
{
  std::vector<double> means, medians, p90s, p99s;
  for (const FleetRun& run : runs) {
    std::vector<double> values;
    for (std::size_t i = 0; i < run.workload.jobs.size(); ++i)
      if (ran(run.result.jobs[i]) && in(run, run.workload.jobs[i]))
        values.push_back(of(run.workload.jobs[i], run.result.jobs[i]));
    if (values.empty())
      continue;
    std::sort(values.begin(), values.end());
    means.push_back(std::accumulate(values.begin(), values.end(), 0.0) /
                    static_cast<double>(values.size()));
    medians.push_back(quantile_of_sorted(values, 0.5));
    p90s.push_back(quantile_of_sorted(values, 0.9));
    p99s.push_back(quantile_of_sorted(values, 0.99));
  }
  if (means.empty()) // in no seed
    return {};
  return FleetSpread{over_seeds(means), over_seeds(medians), over_seeds(p90s), over_seeds(p99s)};
}

double wait_of(const Job& job, const JobOutcome& outcome)
{
  return (outcome.start - job.submit).value();
}

double completion_of(const Job& job, const JobOutcome& outcome)
{
  return (outcome.end - job.submit).value();
}

double slowdown_of(const Job& job, const JobOutcome& outcome)
{
  const double run = std::max(kBoundedRun, outcome.run.value());
  return std::max(1.0, completion_of(job, outcome) / run);
}

bool everybody(const FleetRun&, const Job&)
{
  return true;
}

template <class In>
FleetGroup group(std::span<const FleetRun> runs, const In& in)
{
  FleetGroup found;
  const FleetRun& first = runs.front();
  for (std::size_t i = 0; i < first.workload.jobs.size(); ++i)
    found.jobs += ran(first.result.jobs[i]) && in(first, first.workload.jobs[i]) ? 1 : 0;
  found.wait_s = spread(runs, &wait_of, in);
  found.completion_s = spread(runs, &completion_of, in);
  found.gpu_hours = over_runs(runs, [&](const FleetRun& run) {
    double held = 0;
    for (std::size_t i = 0; i < run.workload.jobs.size(); ++i)
      if (in(run, run.workload.jobs[i]))
        held += run.result.jobs[i].run.value() * run.workload.jobs[i].gpus;
    return held / 3600;
  });
  return found;
}

// "1", "2", "3-4", "5-8", ...
int size_class(int gpus)
{
  return static_cast<int>(std::bit_width(static_cast<unsigned>(gpus - 1)));
}
std::string name_of_size(int size)
{
  const int last = 1 << size;
  return size < 2 ? std::to_string(last) : fmt::format("{}-{}", last / 2 + 1, last);
}

// Of the names that jobs have.
std::vector<std::pair<std::string, FleetGroup>> by_name(std::span<const FleetRun> runs,
                                                        const std::vector<std::string>& names,
                                                        std::uint32_t Job::*name)
{
  std::vector<std::uint8_t> used(names.size(), 0);
  for (const FleetRun& run : runs)
    for (const Job& job : run.workload.jobs)
      used[job.*name] = 1;
  std::vector<std::pair<std::string, FleetGroup>> groups;
  for (std::uint32_t i = 0; i < names.size(); ++i)
    if (used[i] != 0)
      groups.emplace_back(
          names[i], group(runs, [&](const FleetRun&, const Job& job) { return job.*name == i; }));
  return groups;
}

void add_groups(FleetAnswer& answer, std::span<const FleetRun> runs)
{
  const FleetRun& first = runs.front();
  answer.by_queue = by_name(runs, first.workload.queues, &Job::queue);
  answer.by_account = by_name(runs, first.workload.accounts, &Job::account);
  std::map<int, int> sizes;
  for (const FleetRun& run : runs)
    for (const Job& job : run.workload.jobs)
      ++sizes[size_class(job.gpus)];
  for (const auto& [size, jobs] : sizes)
    answer.by_size.emplace_back(name_of_size(size),
                                group(runs, [size = size](const FleetRun&, const Job& job) {
                                  return size_class(job.gpus) == size;
                                }));
}

void count_jobs(FleetAnswer& answer, const FleetRun& run)
{
  answer.jobs.submitted = static_cast<int>(run.workload.jobs.size());
  answer.jobs.stuck = run.result.stuck;
  std::map<std::string, int> causes;
  for (const JobOutcome& outcome : run.result.jobs) {
    switch (outcome.state) {
    case JobState::completed:
      ++answer.jobs.completed;
      break;
    case JobState::timeout:
      ++answer.jobs.timeout;
      break;
    case JobState::rejected:
      ++answer.jobs.rejected;
      break;
    case JobState::waiting:
      ++answer.jobs.waiting;
      answer.jobs.unfinished += outcome.start != kNever ? 1 : 0;
      break;
    case JobState::running:
      ++answer.jobs.running;
      break;
    }
    if (outcome.waited_for != Cause::nothing)
      ++causes[text_of(outcome.waited_for)];
  }
  answer.waited_for.assign(causes.begin(), causes.end());
}

FleetHours hours(std::span<const FleetRun> runs)
{
  const auto part = [&](double GpuTime::*member) {
    return over_runs(runs, [&](const FleetRun& run) { return run.result.gpu_time.*member / 3600; });
  };
  return {part(&GpuTime::productive), part(&GpuTime::queued),     part(&GpuTime::fragmented),
          part(&GpuTime::contended),  part(&GpuTime::checkpoint), part(&GpuTime::lost),
          part(&GpuTime::restart),    part(&GpuTime::repair),     part(&GpuTime::idle),
          part(&GpuTime::held)};
}

// Those that compute are busy; those that wait, write or are put to work again are idle, as are
// those of spares that are up.
double energy_kwh(const PowerSpec& power, int gpus_per_node, const FleetResult& result)
{
  const GpuTime& time = result.gpu_time;
  const double busy = time.productive + time.contended + time.lost;
  const double up = time.total() - time.repair + result.spare_time * gpus_per_node;
  const double joules =
      busy * power.gpu_busy + (up - busy) * power.gpu_idle + up / gpus_per_node * power.node;
  return joules / 3.6e6;
}

double share(double part, double whole)
{
  return whole > 0 ? part / whole : 0;
}

FleetFailures failures_of(const FailuresSpec& spec, std::span<const FleetRun> runs)
{
  FleetFailures told;
  told.failures = over_runs(runs, [](const FleetRun& run) { return double(run.result.failures); });
  told.interruptions =
      over_runs(runs, [](const FleetRun& run) { return double(run.result.interruptions); });
  if (spec.drained > 0)
    told.drained = over_runs(runs, [](const FleetRun& run) { return double(run.result.drained); });
  told.nodes_down_mean = over_runs(runs, [](const FleetRun& run) { return run.result.down_mean; });
  told.nodes_down_most =
      over_runs(runs, [](const FleetRun& run) { return double(run.result.down_most); });
  return told;
}

// Queues that the fleet names and no job is in, and the other way round in its mix: likely
// misspelt. `known`: those that jobs name.
std::vector<std::string> remarks_on_queues(const FleetSpec& spec,
                                           const std::vector<std::string>& known)
{
  std::vector<std::string> names, remarks;
  for (const QueueSpec& queue : spec.queues)
    names.push_back(queue.name);
  const auto tell = [&](const std::string& text, const std::string& name,
                        const std::vector<std::string>& others) {
    const std::string guess = hint(name, others);
    remarks.push_back(guess.empty() ? text : text + "; " + guess);
  };
  for (std::size_t i = 0; i < names.size(); ++i)
    if (std::find(known.begin(), known.end(), names[i]) == known.end())
      tell(fmt::format("/queues/{}: no job is in queue '{}'", i, names[i]), names[i], known);
  if (spec.arrivals && !names.empty())
    for (std::size_t i = 0; i < spec.arrivals->mix.size(); ++i)
      if (const std::string& queue = spec.arrivals->mix[i].queue;
          !queue.empty() && std::find(names.begin(), names.end(), queue) == names.end())
        tell(fmt::format("/arrivals/mix/{}: queue '{}' is not in /queues, and has no limits", i,
                         queue),
             queue, names);
  return remarks;
}

} // namespace

std::span<const FleetHoursPart> fleet_hours_parts()
{
  static constexpr FleetHoursPart kParts[] = {
      {"productive", &FleetHours::productive}, {"contended", &FleetHours::contended},
      {"checkpoint", &FleetHours::checkpoint}, {"lost", &FleetHours::lost},
      {"restart", &FleetHours::restart},       {"held, waiting", &FleetHours::held},
      {"queued", &FleetHours::queued},         {"fragmented", &FleetHours::fragmented},
      {"repair", &FleetHours::repair},         {"idle", &FleetHours::idle}};
  return kParts;
}

double cluster_gpu_hours(const FleetAnswer& answer)
{
  return answer.gpus * answer.makespan_s.median / 3600;
}

int never_run(const FleetJobCounts& jobs)
{
  return jobs.submitted - jobs.completed - jobs.timeout - jobs.running;
}

Range over_seeds(const std::vector<double>& values)
{
  return {quantile(values, 0.5), quantile(values, (1 - kInterval) / 2),
          quantile(values, (1 + kInterval) / 2), kInterval};
}

FleetAnswer fleet_answer(const LoadedFleet& fleet, std::span<const FleetRun> runs)
{
  FleetAnswer answer;
  answer.fleet = fleet.spec.name;
  answer.version = version();
  answer.seed = runs.front().seed;
  answer.seeds = static_cast<int>(runs.size());
  answer.policy = fleet.policy_name;
  answer.gpus = fleet.spec.cluster.nodes * fleet.shape.gpus_per_node;
  answer.interrupted = runs.back().result.stopped;
  count_jobs(answer, runs.front());
  answer.makespan_s = over_runs(
      runs, [](const FleetRun& run) { return (run.result.end - run.result.start).value(); });
  answer.wait_s = spread(runs, &wait_of, &everybody);
  answer.completion_s = spread(runs, &completion_of, &everybody);
  answer.slowdown = spread(runs, &slowdown_of, &everybody);
  const auto of_all = [&](const auto& part) {
    return over_runs(runs, [&](const FleetRun& run) {
      return share(part(run.result.gpu_time), run.result.gpu_time.total());
    });
  };
  answer.utilisation = of_all([](const GpuTime& time) { return time.busy(); });
  answer.goodput = of_all([](const GpuTime& time) { return time.productive; });
  answer.ettr = over_runs(runs, [](const FleetRun& run) {
    return share(run.result.gpu_time.productive, run.result.gpu_time.busy());
  });
  answer.gpu_hours = hours(runs);
  if (const auto price = fleet.price) {
    answer.currency = fleet.spec.cluster.currency;
    answer.cost = over_runs(runs, [&](const FleetRun& run) {
      const double length = (run.result.end - run.result.start).value();
      return *price * length / 3600 * fleet.shape.gpus();
    });
  }
  if (const auto& power = fleet.spec.cluster.power)
    answer.energy_kwh = over_runs(runs, [&](const FleetRun& run) {
      return energy_kwh(*power, fleet.shape.gpus_per_node, run.result);
    });
  add_groups(answer, runs);
  if (fleet.spec.failures)
    answer.failures = failures_of(*fleet.spec.failures, runs);
  if (interval_by_simulation(fleet.spec))
    answer.interval_of_daly = runs.back().interval_scale;
  answer.warnings = runs.front().misfits;
  for (std::string& remark : remarks_on_queues(fleet.spec, runs.front().workload.queues))
    answer.warnings.push_back(std::move(remark));
  if (runs.back().situations > 0)
    answer.situations = runs.back().situations;
  if (fleet.spec.jobs)
    answer.trace = {static_cast<int>(fleet.trace->read), static_cast<int>(fleet.trace->left_out),
                    fleet.trace->notes};
  return answer;
}

double wait_p90_of_all(const FleetRun& run)
{
  std::vector<double> waits;
  for (std::size_t i = 0; i < run.workload.jobs.size(); ++i)
    waits.push_back(wait_of(run.workload.jobs[i], run.result.jobs[i]));
  std::sort(waits.begin(), waits.end());
  if (waits.empty())
    return 0;
  // As quantile_of_sorted, but that infinity times nothing is nothing.
  const double position = 0.9 * static_cast<double>(waits.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const double part = position - static_cast<double>(below);
  return part > 0 ? waits[below] + part * (waits[below + 1] - waits[below]) : waits[below];
}

} // namespace foretrain::experiments
