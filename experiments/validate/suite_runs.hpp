// What predicts the measurements of a suite: a point of an experiment, a table of nccl-tests, a
// matrix of copies. Each returns JSON with every number that a measurement may point to.
#pragma once

#include "experiments/answers/predict.hpp"
#include "experiments/validate/suite.hpp"

#include <functional>

namespace foretrain::experiments {

/// A simulation that several measurements may share. May throw ConfigError.
using SuiteRun = std::function<Json(const RunOptions&)>;

/// Jobs as in a prediction's point: pointers like /jobs/0/throughput_samples_per_s.
SuiteRun point_run(Point point);

/// A list of ranges of seconds, one for each row of the table; `profiles` as laid over its suite.
SuiteRun table_run(const SuiteTable& table, const Value& at,
                   const std::shared_ptr<const Profiles>& profiles);

/// A matrix in SI units, [from][to].
SuiteRun copies_run(const SuiteCopies& copies);

} // namespace foretrain::experiments
