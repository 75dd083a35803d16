// Files that a process reads again and again: presets.
#pragma once

#include "sim/base/document.hpp"

#include <filesystem>

namespace foretrain {

/// load_document(), but a file that has been read before and is the same since is not read again. A
/// file written to in the last seconds before it is read is not kept: a change right after might
/// leave its date. For one thread at a time. Throws what load_document() does, also for what is
/// known but may not be read now.
DocumentPtr known_document(const std::filesystem::path& path);

} // namespace foretrain
