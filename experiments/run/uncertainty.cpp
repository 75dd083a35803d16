#include "experiments/run/uncertainty.hpp"

#include "calibration/correlated.hpp"
#include "calibration/spreads.hpp"
#include "experiments/run/divided_jobs.hpp"
#include "experiments/run/gains.hpp"
#include "experiments/run/range.hpp"
#include "experiments/run/stage.hpp"
#include "experiments/run/tenancy.hpp"
#include "experiments/run/unexplained.hpp"
#include "sim/engine/random.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

constexpr int kCheapGpus = 64;                // up to which parameters are varied unasked,
constexpr std::uint64_t kCheapFlows = 200000; // unless the run itself was long
constexpr int kSteps = 12; // measured ones of a run that compares parameters: over fewer,
                           // agreements that fall on cycles make small changes look like large ones
// Of a logarithm; effects are scaled from it. Smaller ones drown in the framework's cycle, by which
// buckets leave earlier or later as a whole.
constexpr double kSmallestShift = 0.1;
constexpr double kLargestShift = 0.5;
constexpr double kNoEffect = 1e-6; // relative
// Change of a rate by several variables together that is not looked into: an interval of 1 % is
// wider than a hundred such changes by less than a hundredth of it.
constexpr double kTooLittle = 1e-4;

using LogRates = std::vector<double>; // logarithm of each job's throughput, up to a constant

// A short run: enough steps to compare it with one of other parameters.
class Probe {
public:
  Probe(const Point& point, RunOptions options) : options_(std::move(options))
  {
    // Each preset's file is read once for all runs.
    auto overlay =
        std::make_shared<Overlay>(point.document->overlay ? *point.document->overlay : Overlay{});
    overlay->files = std::make_shared<std::map<std::string, DocumentPtr>>();
    auto document = std::make_shared<Document>(*point.document);
    document->overlay = std::move(overlay);
    point_ = {point.settings, std::move(document), point.profiles};
    options_.trace_path.clear();
    options_.keep_limits = false;
  }

  const Point& point() const { return point_; }

  /// Step times of each job.
  std::vector<std::vector<double>> steps(const Point& point, std::uint64_t seed) const
  {
    ResolvedExperiment experiment = ready_to_run(point, options_.fidelity);
    for (ResolvedJob& job : experiment.jobs) {
      job.measured_steps = std::min(job.measured_steps, kSteps);
      if (job.input.synthetic) // nothing has to fill up
        job.spec.warmup_steps = std::min(job.spec.warmup_steps, 1);
    }
    RunOptions options = options_;
    options.seed = seed;
    Stage stage(experiment, options);
    stage.run();
    std::vector<std::vector<double>> times(experiment.jobs.size());
    for (std::size_t i = 0; i < experiment.jobs.size(); ++i)
      for (const Seconds step : stage.job(i).step_times())
        times[i].push_back(step.value());
    return times;
  }

  LogRates rates(const Point& point) const
  {
    LogRates rates;
    for (const auto& times : steps(point, options_.seed)) {
      double sum = 0;
      for (const double time : times)
        sum += time;
      rates.push_back(-std::log(sum / static_cast<double>(times.size())));
    }
    return rates;
  }

private:
  Point point_;
  RunOptions options_;
};

// How far a variable may be turned up or down: where the format allows no more, down.
double shift_for(const Variable& variable)
{
  const double size = std::clamp(variable.spread, kSmallestShift, kLargestShift);
  for (const Variable::At& at : variable.at)
    if (at.value.si() * std::exp(size) > at.largest)
      return -size;
  return size;
}

// Whether more of it takes longer: latencies and costs, where rates and efficiencies bring time.
bool is_time(const Variable& variable)
{
  const auto units = UnitsOf<Seconds>::units();
  return std::any_of(units.begin(), units.end(),
                     [&](const Unit& unit) { return unit.name == variable.at.front().value.unit; });
}

// What every step of a job meets. Most of the rest of a machine is idle in most jobs.
bool in_every_step(const Variable& variable)
{
  const std::string& pointer = variable.at.front().pointer;
  if (variable.kind == "gpu") // but its links
    return !pointer.starts_with("/nvlink") && !pointer.ends_with("_latency");
  return variable.kind == "framework" || variable.kind == "anchor" || variable.kind == "job";
}

bool too_little(const LogRates& changes)
{
  return std::all_of(changes.begin(), changes.end(),
                     [](double it) { return std::abs(it) <= kTooLittle; });
}

// Effect of one standard deviation of each variable on each job's logarithm of throughput.
class LinearEffects {
public:
  LinearEffects(const Probe& probe, const std::vector<Variable>& variables)
      : probe_(probe), variables_(variables), base_(probe.rates(probe.point())),
        effects_(variables.size(), LogRates(base_.size(), 0))
  {
    Group unlikely;
    for (std::size_t v = 0; v < variables.size(); ++v)
      if (in_every_step(variables[v]))
        measure({v});
      else
        unlikely.push_back(v);
    if (!unlikely.empty())
      look_into(unlikely, measure(unlikely));
  }

  std::vector<LogRates> result() && { return std::move(effects_); }

private:
  using Group = std::vector<std::size_t>;

  // Changes of the rates when these variables are shifted together; in one direction, lest they
  // cancel out.
  LogRates measure(const Group& group)
  {
    std::vector<double> shift(variables_.size(), 0);
    for (const std::size_t v : group)
      shift[v] = (group.size() > 1 && is_time(variables_[v]) ? -1 : 1) * shift_for(variables_[v]);
    LogRates changes = probe_.rates(shifted(probe_.point(), variables_, shift));
    for (std::size_t i = 0; i < changes.size(); ++i)
      changes[i] -= base_[i];
    if (group.size() == 1) {
      const Variable& alone = variables_[group[0]];
      for (std::size_t i = 0; i < changes.size(); ++i)
        effects_[group[0]][i] = changes[i] * alone.spread / shift_for(alone);
    }
    return changes;
  }

  // Halves a group that changes the rates by so much, until each variable that does is alone. What
  // one half does not explain is the other's, which is so found without a run.
  void look_into(const Group& group, const LogRates& changes)
  {
    if (group.size() == 1 || too_little(changes))
      return;
    const auto middle = group.begin() + static_cast<std::ptrdiff_t>(group.size() / 2);
    const Group first(group.begin(), middle);
    const Group second(middle, group.end());
    const LogRates of_first = measure(first);
    look_into(first, of_first);
    LogRates of_second = changes;
    for (std::size_t i = 0; i < changes.size(); ++i)
      of_second[i] -= of_first[i];
    if (second.size() == 1 && !too_little(of_second))
      measure(second);
    else
      look_into(second, of_second);
  }

  const Probe& probe_;
  const std::vector<Variable>& variables_;
  LogRates base_;
  std::vector<LogRates> effects_;
};

std::vector<std::vector<double>> correlations(const Point& point,
                                              const std::vector<Variable>& variables)
{
  std::vector<std::vector<double>> matrix;
  for (std::size_t a = 0; a < variables.size(); ++a) {
    matrix.emplace_back();
    for (std::size_t b = 0; b < variables.size(); ++b)
      matrix.back().push_back(a == b ? 1 : correlation(point, variables[a], variables[b]));
  }
  return matrix;
}

double deviation(const std::vector<LogRates>& effects,
                 const std::vector<std::vector<double>>& matrix, std::size_t job)
{
  double variance = 0;
  for (std::size_t a = 0; a < effects.size(); ++a)
    for (std::size_t b = 0; b < effects.size(); ++b)
      variance += effects[a][job] * effects[b][job] * matrix[a][b];
  return std::sqrt(std::max(0.0, variance));
}

// Parts from what fits left over; they are independent of the parameters.
std::vector<Uncertainty::Part> leftovers(const Point& point, const std::vector<Variable>& variables,
                                         const std::vector<LogRates>& effects, std::size_t job)
{
  LogRates own;
  for (const LogRates& effect : effects)
    own.push_back(effect[job]);
  std::vector<Uncertainty::Part> parts;
  for (const Unexplained& fit : unexplained(point, variables))
    if (const double effect = effect_of(fit, variables, own); effect > kNoEffect)
      parts.push_back({fit.name, fit.spread, effect});
  return parts;
}

// Relative standard deviation of the rate between runs of one job, in which no parameter differs.
// Runs that taught a profile hold it in what its fit left over, but not what comes on top where
// tenants ask for more cores than there are.
double between_runs(const ResolvedExperiment& experiment,
                    const std::vector<Uncertainty::Part>& left)
{
  const bool shared = experiment.jobs.size() > 1 && experiment.platform.gpu.on_host() &&
                      Tenancy(experiment).crowded(experiment.jobs.front().ranks.front().node);
  double variance = 0;
  for (const calibration::SpreadLine& line : calibration::load_spreads().spreads)
    if ((line.kind == "run" && left.empty()) || (line.kind == "shared-cores" && shared))
      variance += line.spread * line.spread;
  return std::sqrt(variance);
}

double deviation(const std::vector<Uncertainty::Part>& parts)
{
  double variance = 0;
  for (const auto& part : parts)
    variance += part.effect * part.effect;
  return std::sqrt(variance);
}

std::vector<Uncertainty::Part> parts_of(const std::vector<Variable>& variables,
                                        const std::vector<LogRates>& effects, std::size_t job,
                                        std::vector<Uncertainty::Part> parts)
{
  for (std::size_t v = 0; v < variables.size(); ++v)
    if (std::abs(effects[v][job]) > kNoEffect)
      parts.push_back({variables[v].name, variables[v].spread, effects[v][job]});
  std::stable_sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) {
    return std::abs(a.effect) > std::abs(b.effect);
  });
  return parts;
}

void add_linear(const Probe& probe, const ResolvedExperiment& experiment,
                const std::vector<Variable>& variables, double interval, PointResult& result)
{
  const auto effects = LinearEffects(probe, variables).result();
  const auto matrix = correlations(probe.point(), variables);
  for (std::size_t i = 0; i < result.jobs.size(); ++i) {
    JobResult& job = result.jobs[i];
    job.uncertainty->method = "linear";
    const auto left = leftovers(probe.point(), variables, effects, i);
    job.uncertainty->parameters = std::hypot(deviation(effects, matrix, i), deviation(left));
    job.uncertainty->parts = parts_of(variables, effects, i, left);
    const double runs = between_runs(experiment, left);
    job.uncertainty->run_to_run = std::hypot(job.uncertainty->run_to_run, runs);
    const double distance = half_width(interval) * std::hypot(job.uncertainty->parameters, runs);
    job.throughput = widened(job.throughput, distance);
    job.step_time = widened(job.step_time, distance);
  }
}

struct Samples {
  std::vector<std::vector<double>> draws;      // [sample][variable], standard normal
  std::vector<std::vector<double>> mean;       // [job][sample], logarithm of throughput
  std::vector<std::vector<double>> every_step; // [job], the same of each step
  std::vector<double> within;                  // [job], variance of a sample's mean from its steps
};

Samples draw(const Probe& probe, const std::vector<Variable>& variables, const RunOptions& options,
             std::size_t jobs)
{
  const auto root = calibration::correlation_root(correlations(probe.point(), variables));
  Samples samples;
  samples.mean.resize(jobs);
  samples.every_step.resize(jobs);
  samples.within.resize(jobs);
  for (int s = 0; s < options.uncertainty.samples; ++s) {
    const auto number = static_cast<std::uint64_t>(s);
    sim::RandomStream random(options.seed, "uncertainty", number);
    std::vector<double> z;
    for (std::size_t v = 0; v < variables.size(); ++v)
      z.push_back(random.normal());
    samples.draws.emplace_back();
    std::vector<double> shift;
    for (std::size_t v = 0; v < variables.size(); ++v) {
      double correlated = 0;
      for (std::size_t k = 0; k < z.size(); ++k)
        correlated += root[v][k] * z[k];
      samples.draws.back().push_back(correlated);
      shift.push_back(correlated * variables[v].spread);
    }
    const auto steps =
        probe.steps(shifted(probe.point(), variables, shift), options.seed + 1 + number);
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

void add_samples(const Probe& probe, const ResolvedExperiment& experiment,
                 const std::vector<Variable>& variables, const RunOptions& options,
                 PointResult& result)
{
  const Samples samples = draw(probe, variables, options, result.jobs.size());
  const auto effects = sampled_effects(samples, variables.size());
  // Shares of a step are small differences, too small for slopes of scattered samples.
  const bool any_left = !unexplained(probe.point(), variables).empty();
  const auto linear = any_left ? LinearEffects(probe, variables).result() : effects;
  const double interval = options.uncertainty.interval;
  const LogRates base = probe.rates(probe.point());
  for (std::size_t i = 0; i < result.jobs.size(); ++i) {
    JobResult& job = result.jobs[i];
    job.uncertainty->method = "monte-carlo";
    const auto left = leftovers(probe.point(), variables, linear, i);
    const double beside = deviation(left);
    job.uncertainty->parameters =
        std::sqrt(std::max(0.0, variance(samples.mean[i]) - samples.within[i]) + beside * beside);
    job.uncertainty->parts = parts_of(variables, effects, i, left);
    const double runs = between_runs(experiment, left);
    job.uncertainty->run_to_run = std::hypot(job.uncertainty->run_to_run, runs);
    // Around the median of the long run; short runs say how far from it.
    const double below = quantile(samples.every_step[i], 0.5 - interval / 2) - base[i];
    const double above = quantile(samples.every_step[i], 0.5 + interval / 2) - base[i];
    const auto around = [&](const Range& range, double low, double high) {
      const Range sampled{range.median, range.median * std::min(1.0, std::exp(low)),
                          range.median * std::max(1.0, std::exp(high)), interval};
      return widened(sampled, half_width(interval) * std::hypot(beside, runs));
    };
    job.throughput = around(job.throughput, below, above);
    job.step_time = around(job.step_time, -above, -below);
  }
}

} // namespace

void add_uncertainty(const Point& point, const ResolvedExperiment& experiment,
                     const RunOptions& options, PointResult& result)
{
  UncertaintyMethod method = options.uncertainty.method;
  if (method == UncertaintyMethod::automatic) {
    std::size_t gpus = 0;
    for (const ResolvedJob& job : experiment.jobs)
      gpus += job.ranks.size();
    const bool cheap = gpus <= kCheapGpus && result.flows <= kCheapFlows;
    method = cheap ? UncertaintyMethod::linear : UncertaintyMethod::steps;
  }
  if (method == UncertaintyMethod::steps)
    return;
  add_gains(experiment, options, result);
  const auto variables = variables_of(experiment, point);
  const Probe probe(point, options);
  if (method == UncertaintyMethod::linear)
    add_linear(probe, experiment, variables, options.uncertainty.interval, result);
  else
    add_samples(probe, experiment, variables, options, result);
}

} // namespace foretrain::experiments
