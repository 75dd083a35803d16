// Tables and views of a file of results (result_store.hpp).
#pragma once

#include "experiments/run/keep/sqlite_file.hpp"

namespace foretrain::experiments {

/// Makes them in a file that is empty. Throws UsageError where there are others, or of another
/// version.
void lay_out(const SqliteFile& file);

} // namespace foretrain::experiments
