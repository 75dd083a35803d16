// Files that commands write.
#pragma once

#include <string>

namespace foretrain::cli {

/// Throws UsageError when that fails.
void write_file(const std::string& path, const std::string& text);

} // namespace foretrain::cli
