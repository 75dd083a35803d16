#include "experiments/validate/mlperf_suite.hpp"

#include "sim/base/error.hpp"

#include <cmath>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

std::string system_of(const calibration::MlperfLog& log)
{
  return fmt::format("{}, {}, {}, batch {:.0f}", log.benchmark, log.submitter, log.platform,
                     log.global_batch);
}

} // namespace

Json mlperf_suite(const std::vector<NamedMlperfLog>& logs, const MlperfOptions& options)
{
  const calibration::MlperfLog& first = logs.front().log;
  Json row = {{"id", fmt::format("{} {} GPUs", first.benchmark, options.gpus)},
              {"experiment", options.experiment},
              {"settings", {{"/jobs/0/gpus", options.gpus}}}};
  if (first.global_batch > 0) {
    const double share = first.global_batch / options.gpus;
    if (share < 1 || share != std::floor(share))
      throw ConfigError(
          logs.front().path, "",
          fmt::format("has a global batch of {:.0f}, which {} GPUs do not share evenly",
                      first.global_batch, options.gpus),
          "is --gpus that of the whole run?");
    row["settings"]["/jobs/0/batch_per_gpu"] = static_cast<int>(std::min(share, 2e9));
  }
  Json rates = Json::array();
  for (const NamedMlperfLog& it : logs) {
    if (system_of(it.log) != system_of(first))
      throw ConfigError(it.path, "",
                        fmt::format("is a run of another system ({}) than {} ({})",
                                    system_of(it.log), logs.front().path, system_of(first)),
                        "one call for the runs of each");
    rates.push_back(calibration::samples_per_second(it.log, it.path));
  }
  row["repetitions"] = rates;
  row["regime"] = options.regime;
  row["source"] = fmt::format("MLPerf Training result logs: {}", system_of(first));
  return {{"format", "foretrain.suite/1"}, {"rows", Json::array({row})}};
}

} // namespace foretrain::experiments
