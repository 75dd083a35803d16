#include "experiments/run/uncertainty/uncertainty.hpp"

#include "calibration/correlated.hpp"
#include "calibration/spreads.hpp"
#include "experiments/run/keep/range.hpp"
#include "experiments/run/limits/gains.hpp"
#include "experiments/run/simulate/anchor_runs.hpp"
#include "experiments/run/simulate/one_gpu.hpp"
#include "experiments/run/simulate/tenancy.hpp"
#include "experiments/run/uncertainty/not_modelled.hpp"
#include "experiments/run/uncertainty/rate_effects.hpp"
#include "experiments/run/uncertainty/unexplained.hpp"
#include "experiments/spec/anchor.hpp"
#include "sim/engine/random.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

// Of flows or GPUs in a run: up to which parameters are varied unasked.
constexpr std::uint64_t kCheapWork = 300000;

// Slowdown, less one, of a job that what is beside it does not touch: alone it does the same,
// whatever its parameters, and is not run again.
constexpr double kSharesNothing = 1e-6;

// Relative standard deviation of a job's rate from run to run, in which no parameter differs.
// Runs that taught a profile hold it in what its fit left over, but not what comes on top where
// tenants ask for more cores than there are.
double between_runs(const ResolvedExperiment& experiment,
                    const std::vector<Uncertainty::Part>& left)
{
  const bool shared = experiment.jobs.size() > 1 && experiment.platform.gpu.on_host() &&
                      Tenancy(experiment).crowded(experiment.jobs.front().ranks.front().node);
  return std::hypot(left.empty() ? spread_of("run") : 0, shared ? spread_of("shared-cores") : 0);
}

// Of a job's rate, beside its parameters; relative standard deviations.
struct Chance {
  std::vector<Uncertainty::Part> left; // by fits of profiles, and by what is not modelled
  double run = 0;                      // from run to run, of its steps, too
  double runs = 0; // of many steps: from run to run, and what is not modelled of one scale
  double beside() const { return std::hypot(deviation_of(left), runs); }
};

Chance chance_of(const RateEffects& effects, std::size_t i, const JobResult& job)
{
  Chance chance{effects.left(i)};
  const double between = between_runs(effects.experiment, chance.left);
  chance.run = std::hypot(job.uncertainty->run_to_run, between);
  const NotModelled beside = not_modelled(effects.probe.point(), effects.experiment, i);
  chance.runs = std::hypot(between, beside.own);
  if (beside.common > 0)
    chance.left.push_back(
        {"what is not modelled of a transformer's steps", beside.common, beside.common, beside.of});
  return chance;
}

Range exactly(double value, const JobResult& job)
{
  return {value, value, value, job.throughput.interval};
}

// A job that is one GPU alone has the speedup 1, whatever its parameters.
void add_speedup_range(const RateEffects& effects, std::size_t i, JobResult& job)
{
  const bool itself = job.gpus == 1 && effects.experiment.jobs.size() == 1;
  if (itself || !runs_on_one_gpu(effects.experiment.jobs[i]))
    return;
  const double both_runs = std::sqrt(2.0) * job.uncertainty->run_to_run;
  job.speedup_range =
      rate_widened(exactly(job.speedup, job), effects.over(effects.on_one_gpu(i), i),
                   std::hypot(both_runs, effects.of_several(i)));
}

// The job without the others, which chance moves by less. `run`: relative standard deviation of its
// run beside them.
void add_slowdown_range(const RateEffects& effects, std::size_t i, double run, JobResult& job)
{
  if (!job.alone)
    return;
  const bool shares = std::abs(*job.slowdown - 1) > kSharesNothing;
  const RateEffects alone = shares ? effects.without_others(i) : effects;
  const auto left = alone.left(i);
  const Range& steps = job.alone->throughput;
  const double own = std::log(steps.high / steps.low) / 2 / half_width(steps.interval);
  const double runs = between_runs(only(effects.experiment, i), left);
  job.slowdown_range =
      time_widened(exactly(*job.slowdown, job), effects.over(alone, i), std::hypot(own, runs, run));
  const double beside = std::hypot(
      runs, deviation_of(left), not_modelled(effects.probe.point(), effects.experiment, i).total());
  const Deviations deviations = alone.deviations(i);
  job.alone->throughput = rate_widened(steps, deviations, beside);
  job.alone->step_time = time_widened(job.alone->step_time, deviations, beside);
}

void set_parameters(const Deviations& all, Uncertainty& uncertainty)
{
  uncertainty.parameters = all.larger();
  if (all.below != all.above) {
    uncertainty.slower = all.below;
    uncertainty.faster = all.above;
  }
}

void add_linear(const RateEffects& effects, PointResult& result)
{
  for (std::size_t i = 0; i < result.jobs.size(); ++i) {
    JobResult& job = result.jobs[i];
    job.uncertainty->method = "linear";
    const Chance chance = chance_of(effects, i, job);
    const Deviations deviations = effects.deviations(i);
    const double left = deviation_of(chance.left);
    set_parameters(beside(deviations, left), *job.uncertainty);
    job.uncertainty->parts = parts_of(effects.variables, effects.of_rates, i, chance.left);
    job.uncertainty->run_to_run = std::hypot(job.uncertainty->run_to_run, chance.runs);
    job.throughput = rate_widened(job.throughput, deviations, chance.beside());
    job.step_time = time_widened(job.step_time, deviations, chance.beside());
    add_speedup_range(effects, i, job);
    add_slowdown_range(effects, i, chance.run, job);
  }
}

struct Samples {
  std::vector<std::vector<double>> draws;      // [sample][variable], standard normal
  std::vector<std::vector<double>> mean;       // [job][sample], logarithm of throughput
  std::vector<std::vector<double>> every_step; // [job], the same of each step
  std::vector<double> within;                  // [job], variance of a sample's mean from its steps
};

// Standard normal, and correlated as the variables are.
std::vector<double> drawn(const std::vector<std::vector<double>>& root, sim::RandomStream& random)
{
  std::vector<double> z;
  for (std::size_t v = 0; v < root.size(); ++v)
    z.push_back(random.normal());
  std::vector<double> draws;
  for (const auto& row : root)
    draws.push_back(std::inner_product(row.begin(), row.begin() + std::ssize(z), z.begin(), 0.0));
  return draws;
}

// Step times of each job with variables drawn, and what was drawn. What contradicts an anchor is
// drawn again.
std::pair<std::vector<double>, std::vector<std::vector<double>>>
sample(const RateEffects& effects, const std::vector<std::vector<double>>& root, std::uint64_t seed,
       std::uint64_t number)
{
  constexpr int kMostDraws = 100;
  const Probe& probe = effects.probe;
  sim::RandomStream random(seed, "uncertainty", number);
  for (int draws = 1;; ++draws) {
    auto z = drawn(root, random);
    std::vector<double> shift;
    for (std::size_t v = 0; v < z.size(); ++v)
      shift.push_back(z[v] * effects.variables[v].spread);
    try {
      auto steps = probe.steps(shifted(probe.point(), effects.variables, shift), seed + 1 + number);
      return {std::move(z), std::move(steps)};
    } catch (const UnreachedRate&) {
      if (draws == kMostDraws)
        throw;
    }
  }
}

Samples draw(const RateEffects& effects, const RunOptions& options, std::size_t jobs)
{
  const auto root = calibration::correlation_root(effects.matrix);
  Samples samples;
  samples.mean.resize(jobs);
  samples.every_step.resize(jobs);
  samples.within.resize(jobs);
  for (int s = 0; s < options.uncertainty.samples; ++s) {
    auto [draws, steps] = sample(effects, root, options.seed, static_cast<std::uint64_t>(s));
    samples.draws.push_back(std::move(draws));
    for (std::size_t i = 0; i < jobs; ++i) {
      const auto n = static_cast<double>(steps[i].size());
      double sum = 0;
      for (const double step : steps[i]) {
        sum += step;
        samples.every_step[i].push_back(-std::log(step));
      }
      samples.mean[i].push_back(-std::log(sum / n));
      samples.within[i] += variance(steps[i]) * n / (sum * sum) / options.uncertainty.samples;
    }
  }
  return samples;
}

// Slope of the logarithm of throughput over each draw.
std::vector<LogRates> sampled_effects(const Samples& samples, std::size_t variables)
{
  const auto n = static_cast<double>(samples.draws.size());
  std::vector<LogRates> effects(variables, LogRates(samples.mean.size(), 0));
  for (std::size_t v = 0; v < variables; ++v)
    for (std::size_t i = 0; i < samples.mean.size(); ++i) {
      double x = 0, y = 0, xx = 0, xy = 0;
      for (std::size_t s = 0; s < samples.draws.size(); ++s) {
        const double z = samples.draws[s][v];
        x += z / n;
        y += samples.mean[i][s] / n;
        xx += z * z / n;
        xy += z * samples.mean[i][s] / n;
      }
      effects[v][i] = xx > x * x ? (xy - x * y) / (xx - x * x) : 0;
    }
  return effects;
}

// Shares of a step are small differences, too small for slopes of scattered samples, and so is what
// one GPU and several do not share: these are linear here, too.
void add_samples(const RateEffects& linear, const RunOptions& options, PointResult& result)
{
  const Samples samples = draw(linear, options, result.jobs.size());
  const auto sampled = sampled_effects(samples, linear.variables.size());
  const double interval = options.uncertainty.interval;
  const LogRates base = linear.probe.rates(linear.probe.point(), true);
  for (std::size_t i = 0; i < result.jobs.size(); ++i) {
    JobResult& job = result.jobs[i];
    job.uncertainty->method = "monte-carlo";
    const Chance chance = chance_of(linear, i, job);
    const double drawn = std::sqrt(std::max(0.0, variance(samples.mean[i]) - samples.within[i]));
    const double left = deviation_of(chance.left);
    job.uncertainty->parameters = std::hypot(drawn, left);
    const auto towards = [&](double sign) { // of means, as far as the interval reaches
      const double end = quantile(samples.mean[i], 0.5 + sign * interval / 2) - base[i];
      return std::hypot(std::max(0.0, sign * end) / half_width(interval), left);
    };
    job.uncertainty->slower = towards(-1);
    job.uncertainty->faster = towards(1);
    job.uncertainty->parts = parts_of(linear.variables, {sampled, sampled}, i, chance.left);
    job.uncertainty->run_to_run = std::hypot(job.uncertainty->run_to_run, chance.runs);
    // Around the median of the long run; short runs say how far from it.
    const double below = quantile(samples.every_step[i], 0.5 - interval / 2) - base[i];
    const double above = quantile(samples.every_step[i], 0.5 + interval / 2) - base[i];
    const auto around = [&](const Range& range, double low, double high) {
      const Range steps{range.median, range.median * std::min(1.0, std::exp(low)),
                        range.median * std::max(1.0, std::exp(high)), interval};
      return widened(steps, half_width(interval) * chance.beside());
    };
    job.throughput = around(job.throughput, below, above);
    job.step_time = around(job.step_time, -above, -below);
    add_speedup_range(linear, i, job);
    add_slowdown_range(linear, i, chance.run, job);
  }
}

// How much longer steps take, as a logarithm, where their kernels take so much longer and all else
// as long.
double longer_steps(const models::StepTimes& time, double kernels)
{
  const double share = (time.compute + time.recompute) / time.total();
  return std::log1p(share * std::expm1(kernels));
}

// The host layer that the anchor of a job was measured under.
platforms::Host measured_under(const Point& point, const ResolvedExperiment& experiment,
                               std::size_t job)
{
  const Point then = measured_with(point, job);
  return then.document == point.document ? experiment.jobs[job].stack.host
                                         : resolve(then).jobs[job].stack.host;
}

// What steps of a job may take longer, and less long, as logarithms, since nobody knows which of
// the host layer's guests it is in: around the one in the middle. Kernels and their launches are
// slower in it; what steps wait for else has causes of its own.
Deviations guests_of(const platforms::Host& host, const models::StepTimes& time, double interval)
{
  if (host.quality.empty())
    return {};
  const double typical = platforms::guest_loss(host.quality, 0.5);
  const auto beside_typical = [&](double share) {
    return longer_steps(time, platforms::guest_loss(host.quality, share) - typical);
  };
  return {beside_typical(0.5 - interval / 2), -beside_typical(0.5 + interval / 2)};
}

void widen(JobResult& job, const Deviations& ends)
{
  job.throughput = widened(job.throughput, ends.below, ends.above);
  job.step_time = widened(job.step_time, ends.above, ends.below);
  if (job.alone) { // in the same guest
    job.alone->throughput = widened(job.alone->throughput, ends.below, ends.above);
    job.alone->step_time = widened(job.alone->step_time, ends.above, ends.below);
  }
}

// An anchor of another host layer's guest: the worse that guest was, the faster the kernels are
// elsewhere. All that rests on that rate shares it.
void add_measured_guest(const platforms::Host& then, double interval, JobResult& job)
{
  const Deviations guest = guests_of(then, job.time, interval);
  if (guest.larger() <= 0)
    return;
  widen(job, {guest.above, guest.below});
  const double k = half_width(interval);
  Uncertainty& uncertainty = *job.uncertainty;
  Uncertainty::Part part{"guest that the anchor was measured in: " + then.name, guest.larger() / k,
                         guest.below / k};
  part.if_larger = guest.below / k;
  part.if_smaller = guest.above / k;
  const auto place = std::ranges::find_if(uncertainty.parts, [&](const Uncertainty::Part& it) {
    return std::abs(it.effect) < part.effect;
  });
  uncertainty.parts.insert(place, part);
  set_parameters(beside({uncertainty.slower.value_or(uncertainty.parameters),
                         uncertainty.faster.value_or(uncertainty.parameters)},
                        Deviations(guest.above / k, guest.below / k)),
                 uncertainty);
}

// Which guest it is, whatever the way in which parameters vary. A rate that was measured in the
// job's own guest knows it.
void add_guests(const Point& point, const ResolvedExperiment& experiment, double interval,
                PointResult& result)
{
  for (std::size_t i = 0; i < result.jobs.size(); ++i) {
    JobResult& job = result.jobs[i];
    const platforms::Host& host = experiment.jobs[i].stack.host;
    if (experiment.jobs[i].spec.anchor) {
      const platforms::Host then = measured_under(point, experiment, i);
      if (then.name == host.name)
        continue;
      add_measured_guest(then, interval, job);
    }
    const Deviations guest = guests_of(host, job.time, interval);
    if (guest.larger() <= 0)
      continue;
    job.uncertainty->guest = GuestSpread{host.name, guest.below, guest.above};
    widen(job, guest);
  }
}

void add_parameters(const Point& point, const ResolvedExperiment& experiment,
                    const RunOptions& options, PointResult& result)
{
  std::uint64_t gpus = 0; // those of a transformer are classes
  for (const ResolvedJob& job : experiment.jobs)
    gpus += job.transformer ? 1 : job.ranks.size();
  const bool cheap = std::max(result.flows, gpus) <= kCheapWork;
  if (cheap && options.doubles_limits)
    add_gains(experiment, options, result);
  UncertaintyMethod method = options.uncertainty.method;
  if (method == UncertaintyMethod::automatic)
    method = cheap ? UncertaintyMethod::linear : UncertaintyMethod::steps;
  if (method == UncertaintyMethod::steps)
    return;
  const auto variables = variables_of(experiment, point);
  const Probe probe(point, options, experiment.exchanges);
  const RateEffects effects =
      rate_effects(probe, experiment, variables, options.uncertainty.interval);
  if (method == UncertaintyMethod::linear)
    add_linear(effects, result);
  else
    add_samples(effects, options, result);
}

} // namespace

void add_uncertainty(const Point& point, const ResolvedExperiment& experiment,
                     const RunOptions& options, PointResult& result)
{
  add_parameters(point, experiment, options, result);
  add_guests(point, experiment, options.uncertainty.interval, result);
}

} // namespace foretrain::experiments
