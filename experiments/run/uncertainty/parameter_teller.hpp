// Which preset says how large a parameter is: whoever builds on it has the same parameter, off by
// the same factor.
#pragma once

#include "sim/base/overlay.hpp"

#include <string>
#include <vector>

namespace foretrain::experiments {

/// What messages call that preset: `use` itself (PresetUse::told), or of those that it extends the
/// furthest whose value at one of `pointers` it keeps. A file or object by the "name" of a bundled
/// preset is that one where it has the same value at all of them.
std::string teller_of(const PresetUse& use, const std::vector<std::string>& pointers);

} // namespace foretrain::experiments
