// The answer of a sweep from the points that a store holds: nothing is simulated.
#pragma once

#include "experiments/run/keep/result.hpp"
#include "experiments/run/keep/result_store.hpp"

#include <string>
#include <vector>

namespace foretrain::experiments {

struct StoredAnswer {
  ExperimentResult result;        // as predict would have given it
  std::int64_t points = 0;        // of the sweep
  std::vector<std::string> notes; // one line for each kind of point that is not in the result
};

/// Of the run of this experiment (empty: of any) that began last. Points that failed carry an
/// error; points that the run did not come to, or whose rows are damaged or gone, are left out and
/// told in notes and among the result's warnings. Throws UsageError when the store holds no such
/// run.
StoredAnswer stored_answer(const ResultStore& store, const std::string& experiment);

} // namespace foretrain::experiments
