// Which command reads a file that was given to another one.
#pragma once

#include <string>

namespace foretrain::experiments {

/// "it is a recording of a profiler: foretrain trace show FILE"; "" for a file that none knows.
/// `head` is how the file at `path` begins, or all of it.
std::string reader_of(const std::string& path, const std::string& head);

} // namespace foretrain::experiments
