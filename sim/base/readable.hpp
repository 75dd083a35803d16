// Which files may be read: all, unless $FORETRAIN_FOLDERS names folders (a local page's worker
// reads what somebody else has written; experiments/serve).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace foretrain {

/// Whether the path is that of a descriptor, which has no folder and no name of its own.
bool is_descriptor(const std::filesystem::path& path);

/// Whether the file lies in one of the folders, links followed; ".." leads nowhere else.
bool lies_within(const std::filesystem::path& file,
                 const std::vector<std::filesystem::path>& folders);

/// Whether $FORETRAIN_FOLDERS (separated by ':') lets it be read. Descriptors may always be.
bool may_be_read(const std::filesystem::path& file);

/// Throws ConfigError where may_be_read says no, whether the file exists or not.
void require_readable(const std::filesystem::path& file);

} // namespace foretrain
