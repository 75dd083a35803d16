// Columns of flat tables of results, from the description of a job's result: CSV, and the view
// "jobs" of a result store.
#pragma once

#include <string>
#include <vector>

namespace foretrain::experiments {

struct Column {
  std::string name;
  std::string pointer; // below the job's result
};

/// Numbers first, then the parts of a step, then what limits it.
const std::vector<Column>& result_columns();

} // namespace foretrain::experiments
