#include "experiments/validate/mlperf_suite.hpp"

#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

// What the log tells of the system, and nothing for what it leaves out.
std::string system_of(const calibration::MlperfLog& log)
{
  std::vector<std::string> parts{log.benchmark};
  for (const std::string& part : {log.submitter, log.platform})
    if (!part.empty())
      parts.push_back(part);
  if (log.global_batch > 0)
    parts.push_back(fmt::format("batch {:.0f}", log.global_batch));
  return joined(parts);
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
  for (std::size_t i = 0; i < logs.size(); ++i) {
    const NamedMlperfLog& it = logs[i];
    const auto same = std::ranges::find(logs, it.log, &NamedMlperfLog::log);
    if (same != logs.begin() + static_cast<std::ptrdiff_t>(i))
      throw ConfigError(it.path, "",
                        fmt::format("tells the same run as {}, which is no repetition", same->path),
                        "one log for each run");
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
