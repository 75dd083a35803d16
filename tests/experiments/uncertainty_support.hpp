// What tests of intervals have in common.
#pragma once

#include "calibration/spreads.hpp"
#include "experiments/run/keep/result.hpp"

#include <cmath>
#include <stdexcept>
#include <string>

namespace foretrain::uncertainty_test {

using namespace foretrain::experiments;

inline constexpr double kHalf90 = 1.6448536; // standard deviations of half a 90 % interval

inline Json experiment(int gpus, bool anchored, double variation = 0)
{
  Json job = {{"name", "train"},
              {"model", "resnet50"},
              {"framework", {{"extends", "tensorflow-horovod"}, {"step_variation", variation}}},
              {"batch_per_gpu", 64},
              {"gpus", gpus}};
  if (anchored)
    job["anchor"] = {{"samples_per_s", 350}};
  return {{"cluster", {{"platform", "c4140-k-v100-sxm2"}, {"nodes", 2}}},
          {"jobs", Json::array({job})}};
}

inline RunOptions with(UncertaintyMethod method, int samples = 200, double interval = 0.9)
{
  RunOptions options;
  options.uncertainty = {method, samples, interval};
  return options;
}

inline double log_width(const Range& range)
{
  return std::log(range.high / range.low);
}

inline double effect_of(const JobResult& job, const std::string& parameter)
{
  for (const auto& part : job.uncertainty->parts)
    if (part.parameter.find(parameter) != std::string::npos)
      return part.effect;
  return 0;
}

inline double spread_of(const std::string& kind, const std::string& name = "")
{
  for (const auto& line : calibration::load_spreads().spreads)
    if (line.kind == kind && (name.empty() || line.name == name))
      return line.spread;
  throw std::logic_error(kind + " " + name);
}

} // namespace foretrain::uncertainty_test
