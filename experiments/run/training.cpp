#include "experiments/run/training.hpp"

#include "experiments/spec/training_length.hpp"

#include <algorithm>
#include <cmath>

namespace foretrain::experiments {

namespace {

constexpr double kDay = 86400;

// Ends of the range of throughput are ends of that of time, but for the start-up.
Range days_of(const Training& training, Seconds start_up, const Range& throughput)
{
  const Seconds running = training.total - start_up;
  const auto days = [&](double rate) {
    return (start_up + throughput.median / rate * running).value() / kDay;
  };
  return {days(throughput.median), days(throughput.high), days(throughput.low),
          throughput.interval};
}

// Range of the mean rate of a training, whose many steps make up for each other: what single steps
// vary by stands in the range of throughput beside the rest, squares of logarithms added.
Range over_many_steps(const Range& throughput, const Range& of_steps)
{
  const auto rest = [&](double whole, double steps) {
    const double all = std::log(whole / throughput.median);
    const double alone = std::log(steps / of_steps.median);
    return std::sqrt(std::max(0.0, all * all - alone * alone));
  };
  return {throughput.median, throughput.median * std::exp(-rest(throughput.low, of_steps.low)),
          throughput.median * std::exp(rest(throughput.high, of_steps.high)), throughput.interval};
}

} // namespace

void add_training(const ResolvedExperiment& experiment, std::size_t job, const Range& of_steps,
                  JobResult& result)
{
  const ResolvedJob& resolved = experiment.jobs[job];
  const double rate = result.throughput.median;
  const auto samples = samples_of_training(resolved, rate * result.step_time.median);
  if (!samples)
    return;
  const double later = result.later_epochs ? result.later_epochs->throughput.median : rate;
  const double epoch = resolved.input.dataset.samples;
  const double cold = result.later_epochs ? std::min(*samples, epoch) : *samples;
  Training training;
  training.samples = *samples;
  training.total =
      result.elapsed.start_up + Seconds(cold / rate) + Seconds((*samples - cold) / later);
  if (resolved.spec.epochs) {
    training.first_epoch = Seconds(epoch / rate);
    training.later_epoch = Seconds(epoch / later);
    training.dataset = resolved.input.dataset.name;
    training.samples_per_epoch = epoch;
  }
  result.training = training;
  if (result.tokens)
    result.training_tokens = *samples * result.tokens->per_sample;
  const bool varied = result.uncertainty && result.uncertainty->method != "steps";
  result.days = days_of(training, result.elapsed.start_up,
                        varied ? over_many_steps(result.throughput, of_steps) : result.throughput);
  const ClusterSpec& cluster = experiment.spec.cluster;
  if (const auto price = price_per_gpu_hour(cluster.price_per_gpu_hour, cluster.platform,
                                            experiment.platform.name)) {
    result.cost = scaled(*result.days, 24 * result.gpus * *price);
    result.currency = cluster.currency;
  }
}

} // namespace foretrain::experiments
