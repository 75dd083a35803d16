#include "experiments/spec/training_length.hpp"

#include "sim/base/text.hpp"

#include <algorithm>

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
  if (job.transformer && job.transformer->tokens)
    return *job.transformer->tokens / job.transformer->step.memory.batch.tokens_per_sample();
  if (job.spec.epochs && (job.transformer ? counts_epochs(job.spec) : !job.plan))
    return *job.spec.epochs * job.input.dataset.samples;
  return std::nullopt;
}

double samples_of_step(const ResolvedJob& job)
{
  if (job.plan)
    return job.plan->samples_per_step;
  if (job.transformer)
    return job.transformer->step.memory.batch.global_batch;
  return batch_of_step(job.spec) * job.spec.gpus;
}

std::optional<double> price_per_gpu_hour(const Value& price, const Value& named,
                                         const std::string& platform)
{
  if (!price)
    return std::nullopt;
  if (price.json().is_number())
    return price.json().get<double>();
  std::vector<std::string> names{platform}, known;
  if (const auto bundled = preset_names(platforms::kPlatformKind);
      std::ranges::find(bundled, platform) != bundled.end())
    for (std::string& alias : preset_aliases(platform, platforms::kPlatformKind))
      names.push_back(std::move(alias));
  for (const auto& it : price.json().items()) {
    if ((named && named.json() == it.key()) || std::ranges::find(names, it.key()) != names.end())
      return it.value().get<double>();
    known.push_back(it.key());
  }
  price.fail("has no price of platform '" + platform + "'",
             "priced are " + (known.empty() ? "none" : joined(known)));
}

void add_length_warnings(ResolvedExperiment& experiment)
{
  constexpr int kManySteps = 1000; // a simulation repeats itself long before
  for (ResolvedJob& job : experiment.jobs)
    if (job.spec.steps.value_or(0) >= kManySteps && !samples_of_training(job, 1))
      job.warnings.push_back(
          fmt::format("{}: all {} \"steps\" are simulated and measured; the length "
                      "of a training is \"training_steps\"",
                      job.spec.name, *job.spec.steps));
  if (!experiment.spec.cluster.price_per_gpu_hour)
    return;
  for (ResolvedJob& job : experiment.jobs)
    if (!samples_of_training(job, 1))
      job.warnings.push_back(fmt::format(
          "{}: \"price_per_gpu_hour\" tells nothing: the job does not say how long its training "
          "is ({})",
          job.spec.name,
          job.transformer && !counts_epochs(job.spec) ? "\"tokens\" or \"training_steps\""
                                                      : "\"epochs\" or \"training_steps\""));
}

} // namespace foretrain::experiments
