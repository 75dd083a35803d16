#include "experiments/spec/training_length.hpp"

#include "sim/base/text.hpp"

#include <fmt/format.h>

namespace foretrain::experiments {

void check_training_length(const JobSpec& job, const Value& at)
{
  std::vector<std::string> given;
  for (const auto& [key, there] : {std::pair{"epochs", job.epochs.has_value()},
                                   std::pair{"tokens", static_cast<bool>(job.tokens)},
                                   std::pair{"training_steps", job.training_steps.has_value()}})
    if (there)
      given.emplace_back(key);
  if (given.size() > 1)
    at.fail_at(given.back(), "stands beside \"" + given.front() + "\"",
               "a training has one length: epochs, tokens or training_steps");
}

std::optional<double> samples_of_training(const ResolvedJob& job, double samples_per_step)
{
  if (job.spec.mode == JobMode::inference)
    return std::nullopt;
  if (job.spec.training_steps)
    return *job.spec.training_steps * samples_per_step;
  if (job.transformer)
    return job.transformer->tokens
               ? std::optional(*job.transformer->tokens /
                               job.transformer->step.memory.batch.tokens_per_sample())
               : std::nullopt;
  if (job.spec.epochs && !job.plan)
    return *job.spec.epochs * job.input.dataset.samples;
  return std::nullopt;
}

std::optional<double> price_per_gpu_hour(const ClusterSpec& cluster,
                                         const platforms::PlatformSpec& platform)
{
  const Value& price = cluster.price_per_gpu_hour;
  if (!price)
    return std::nullopt;
  if (price.json().is_number())
    return price.json().get<double>();
  const Json& named = cluster.platform.json();
  std::vector<std::string> known;
  for (const auto& it : price.json().items()) {
    if (named == it.key() || platform.name == it.key())
      return it.value().get<double>();
    known.push_back(it.key());
  }
  price.fail("has no price of platform '" + platform.name + "'",
             "priced are " + (known.empty() ? "none" : joined(known)));
}

void add_money_warnings(ResolvedExperiment& experiment)
{
  if (!experiment.spec.cluster.price_per_gpu_hour)
    return;
  for (ResolvedJob& job : experiment.jobs)
    if (!samples_of_training(job, 1))
      job.warnings.push_back(fmt::format(
          "{}: \"price_per_gpu_hour\" tells nothing: the job does not say how long its training "
          "is ({})",
          job.spec.name,
          job.transformer ? "\"tokens\" or \"training_steps\""
                          : "\"epochs\" or \"training_steps\""));
}

} // namespace foretrain::experiments
