// Tables and views of a file of results (result_store.hpp).
#pragma once

#include "experiments/run/keep/sqlite_file.hpp"

namespace foretrain::experiments {

/// Makes them in a file that is empty and to be written. Throws UsageError where there are others,
/// or of another version, or none to read.
void lay_out(const SqliteFile& file, StoreUse use);

} // namespace foretrain::experiments
