// How far a sweep is, and tidying up after it.
#pragma once

#include <string>
#include <vector>

namespace foretrain::cli {

/// Files that tasks of a sweep into `store` write or have written, in the order of names.
std::vector<std::string> parts_beside(const std::string& store);

/// Prints what is done, running and failed, and the time left. Throws UsageError.
int sweep_status(const std::string& store);

/// Takes over what tasks have left, removes their files, scripts and logs, and forgets points that
/// failed or are damaged. Throws UsageError.
int sweep_clean(const std::string& store);

} // namespace foretrain::cli
