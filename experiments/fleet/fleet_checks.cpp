#include "experiments/fleet/fleet_checks.hpp"

#include "experiments/spec/experiment.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

using namespace models::fleet;

constexpr const char* kByFormula = "best";
constexpr const char* kBySimulation = "simulated";
constexpr double kMostDrawn = 1e7; // jobs, which take some 200 bytes each

void check_failures(const FailuresSpec& spec, const Value& at)
{
  const bool nodes = spec.per_1000_node_days || spec.per_1000_switch_days;
  const bool drawn = nodes || spec.gpus || spec.storage;
  if (drawn == !spec.trace.empty())
    at.fail("must have either a trace, or per_1000_node_days, per_1000_switch_days, gpus or "
            "storage");
  if (!spec.repair &&
      (nodes || (spec.gpus && !spec.gpus->repair) || (spec.storage && !spec.storage->repair)))
    at.fail_at("repair", "is missing: how long what fails is down");
  const auto check_repair = [](const std::optional<RepairLaw>& repair, const Value& of) {
    if (repair && repair->mean < repair->median)
      of.at("repair").at("mean").fail("must be at least the median");
  };
  check_repair(spec.repair, at);
  if (spec.gpus)
    check_repair(spec.gpus->repair, at.at("gpus"));
  if (spec.storage)
    check_repair(spec.storage->repair, at.at("storage"));
  if (spec.spare_start > Seconds(0) && spec.spares == 0)
    at.at("spare_start").fail("needs spares");
  const bool takes_nodes =
      spec.per_1000_node_days || (spec.gpus && spec.gpus->takes == GpuTakes::node);
  if (spec.drained > 0 && !takes_nodes)
    at.at("drained").fail("needs per_1000_node_days, or gpus that take their node");
  if (spec.lemons && (spec.lemons->nodes == 0) != (spec.lemons->failures == 0))
    at.at("lemons").fail("must have nodes and failures above 0, or neither");
  if (spec.lemons && spec.lemons->failures < spec.lemons->nodes)
    at.at("lemons").fail(fmt::format("are {:g} of the nodes and have {:g} of the failures: they "
                                     "would fail less often than others",
                                     spec.lemons->nodes, spec.lemons->failures));
  if (spec.law == FailureLaw::exponential && spec.shape != 1)
    at.at("shape").fail("is only for Weibull's law");
}

void check_window(const MaintenanceSpec& it, int nodes, const Value& at)
{
  if (it.times > 1 && !it.every)
    at.fail_at("every", "is missing: how far apart they are");
  if (it.every && *it.every < it.length)
    at.at("every").fail("must be at least the length");
  if (it.first_node + it.nodes.value_or(1) > nodes)
    at.at(it.nodes ? "nodes" : "first_node")
        .fail(fmt::format("goes beyond the last node, {}; spares are never taken", nodes - 1));
}

void check_windows(const FleetSpec& spec, const Value& root)
{
  for (std::size_t i = 0; i < spec.maintenance.size(); ++i)
    check_window(spec.maintenance[i], spec.cluster.nodes, root.at("maintenance").at(i));
  for (std::size_t i = 0; i < spec.reservations.size(); ++i) {
    const ReservationSpec& it = spec.reservations[i];
    const Value at = root.at("reservations").at(i);
    check_window(it, spec.cluster.nodes, at);
    if (it.accounts.empty() && it.queues.empty())
      at.fail("must have accounts or queues: who may have these nodes");
  }
}

// What the fleet itself decides: nobody would look at it here.
void check_job(const Value& job)
{
  static constexpr std::pair<const char*, const char*> kDecided[] = {
      {"placement", "is the policy's in a fleet: /policy/placement"},
      {"start", "is when a job comes: the fleet's arrivals or trace say it"},
      {"ends", "has no meaning in a fleet: jobs end with their work"},
      {"epochs", "stands beside the job in a fleet, not in it"},
      {"tokens", "stands beside the job in a fleet, not in it"},
      {"training_steps", "stands beside the job in a fleet, as steps"}};
  for (const auto& [key, why] : kDecided)
    if (job.json().is_object() && job.json().contains(key))
      job.at(key).fail(why);
}

void check_mix(const MixSpec& mix, const Value& at)
{
  if (at.json().contains("spread") && mix.law != RunTimeLaw::log_normal)
    at.at("spread").fail("is only of the law log-normal, and the law is " + word_of(mix.law));
  if (mix.job && at.json().contains("law"))
    at.at("law").fail("must not be given beside a job: it is of run_time");
  if (!mix.job) {
    if (mix.gpus < 1 || !mix.run_time)
      at.fail("must have a job, or gpus and run_time");
    if (mix.epochs || mix.steps || mix.tokens)
      at.at(mix.epochs ? "epochs" : mix.steps ? "steps" : "tokens").fail("needs a job");
    return;
  }
  if (int{mix.epochs.has_value()} + int{mix.steps.has_value()} + int{bool(mix.tokens)} != 1)
    at.fail("must have either epochs, steps or tokens beside its job");
  if (mix.gpus > 0 || mix.run_time)
    at.at(mix.gpus > 0 ? "gpus" : "run_time").fail("must not be given beside a job");
  check_job(mix.job);
  const JobSpec job = read_as<JobSpec>(mix.job);
  if (mix.epochs && (job.global_batch || job.program))
    at.at("epochs").fail(
        "is for data-parallel jobs of a model; give steps, or tokens of a transformer");
}

void check_arrivals(const ArrivalsSpec& spec, const Value& at)
{
  if (spec.mix.empty())
    at.at("mix").fail("must hold at least one kind of job");
  const auto profile = [&](const char* key, const std::vector<double>& rates, std::size_t number) {
    if (!rates.empty() && rates.size() != number)
      at.at(key).fail(fmt::format("must hold {} numbers, got {}", number, rates.size()));
    if (!rates.empty() && *std::max_element(rates.begin(), rates.end()) <= 0)
      at.at(key).fail("must hold a number above 0");
  };
  const double jobs = spec.per_hour * spec.until.value() / 3600;
  if (jobs > kMostDrawn)
    at.at("per_hour")
        .fail(fmt::format("makes {:.3g} jobs in {:.3g} days; at most {:.0f} are drawn", jobs,
                          spec.until.value() / 86400, kMostDrawn));
  profile("by_hour", spec.by_hour, 24);
  profile("by_weekday", spec.by_weekday, 7);
  for (std::size_t i = 0; i < spec.mix.size(); ++i) {
    const MixSpec& mix = spec.mix[i];
    const Value one = at.at("mix").at(i);
    check_mix(mix, one);
  }
}

void check_checkpoint(const CheckpointSpec& spec, const Value& at, bool simulated)
{
  if (!spec.write && !spec.rate && !simulated)
    at.fail("must have write, or rate, with bytes_per_gpu where jobs have no model: writes are "
            "simulated only where speeds are");
  if (spec.to == CheckpointPlace::disk && (spec.write || spec.rate))
    at.at("to").fail("must not be disk beside write and rate: it is for writes that are simulated");
  if (spec.write && (spec.bytes_per_gpu || spec.rate))
    at.at("write").fail("must not be given beside bytes_per_gpu and rate");
  if (spec.read && !spec.write && !spec.rate)
    at.at("read").fail("must be left out where writes are simulated: so is the read of one");
  if (spec.read && spec.read_rate)
    at.at("read").fail("must not be given beside read_rate");
  if (spec.read_rate && !spec.rate)
    at.at("read_rate").fail("must not be given without rate: bytes are not known");
  if (interval_by_failures(spec))
    return;
  Seconds interval{};
  Reader::read(spec.interval, interval, at_least(kShortestInterval.value()));
}

void check_expectations(const FleetSpec& spec, const Value& root)
{
  for (std::size_t i = 0; i < spec.expect.size(); ++i) {
    const FleetExpectationSpec& it = spec.expect[i];
    const Value at = root.at("expect").at(i);
    if (it.quantity.empty() || it.quantity.front() != '/')
      at.at("quantity").fail("must be a JSON pointer into the answer, like /wait_s/p90");
    if (!it.at_least && !it.at_most)
      at.fail("must have at_least or at_most");
    if (it.at_least && it.at_most && *it.at_least > *it.at_most)
      at.fail_at("at_most", fmt::format("is {:g}, below at_least, which is {:g}: no number is both",
                                        *it.at_most, *it.at_least));
    for (const Value* settings : {&it.point, &it.than})
      if (*settings && !settings->json().is_object())
        settings->fail("must be an object of pointers and values, got " + settings->shown());
  }
}

} // namespace

bool interval_by_failures(const CheckpointSpec& spec)
{
  return spec.interval.json() == kByFormula || spec.interval.json() == kBySimulation;
}

bool interval_by_simulation(const FleetSpec& spec)
{
  return spec.checkpoint && spec.checkpoint->interval.json() == kBySimulation;
}

bool simulates(const FleetSpec& spec)
{
  if (spec.jobs)
    return spec.jobs->speed == SpeedSource::simulated;
  return spec.arrivals && std::any_of(spec.arrivals->mix.begin(), spec.arrivals->mix.end(),
                                      [](const MixSpec& mix) { return bool(mix.job); });
}

void check_fleet(const FleetSpec& spec, const Value& root)
{
  check_expectations(spec, root);
  check_price(spec.cluster.price_per_gpu_hour);
  if (spec.jobs.has_value() == spec.arrivals.has_value())
    root.fail("must have either jobs or arrivals");
  if (spec.jobs && (spec.jobs->speed == SpeedSource::simulated) != bool(spec.jobs->job))
    root.at("jobs").fail("must have a job where speeds are simulated, and only there");
  if (spec.jobs && spec.jobs->job)
    check_job(spec.jobs->job);
  if (spec.jobs && spec.jobs->job && spec.jobs->job.json().contains("gpus"))
    spec.jobs->job.at("gpus").fail("must be left out: the trace has them");
  if (spec.jobs && spec.jobs->take == TakeJobs::unfinished) {
    if (spec.jobs->kind != TraceKind::sacct)
      root.at("jobs").at("take").fail("must be ended for traces of " + word_of(spec.jobs->kind) +
                                      ": only sacct tells limits of jobs that run and wait");
    if (spec.jobs->speed == SpeedSource::simulated)
      root.at("jobs").at("speed").fail("must be recorded where unfinished jobs are taken");
  }
  if (simulates(spec) && !spec.cluster.platform)
    root.at("cluster").fail_at("platform", "is missing: speeds are simulated");
  if (!spec.cluster.platform && spec.stack)
    root.at("stack").fail("needs a platform in /cluster");
  if (!spec.cluster.platform && spec.cluster.storage)
    root.at("cluster").at("storage").fail("needs a platform beside it");
  if (spec.arrivals)
    check_arrivals(*spec.arrivals, root.at("arrivals"));
  if (spec.failures)
    check_failures(*spec.failures, root.at("failures"));
  check_windows(spec, root);
  if (spec.checkpoint)
    check_checkpoint(*spec.checkpoint, root.at("checkpoint"), simulates(spec));
  if (spec.checkpoint && spec.checkpoint->to == CheckpointPlace::neighbour && spec.failures &&
      !spec.failures->keep_place)
    root.at("checkpoint")
        .at("to")
        .fail("needs failures with keep_place to be neighbour: memory of nodes that a job gives "
              "back is lost");
  if (spec.checkpoint && interval_by_failures(*spec.checkpoint) &&
      !(spec.failures && (spec.failures->per_1000_node_days ||
                          spec.failures->per_1000_switch_days || spec.failures->gpus)))
    root.at("checkpoint")
        .at("interval")
        .fail("needs failures with per_1000_node_days, per_1000_switch_days or gpus to be " +
              spec.checkpoint->interval.json().get<std::string>());
  for (std::size_t i = 0; i < spec.queues.size(); ++i)
    for (std::size_t k = 0; k < i; ++k)
      if (spec.queues[i].name == spec.queues[k].name)
        root.at("queues").at(i).at("name").fail("is the name of another queue, too");
}

} // namespace foretrain::experiments
