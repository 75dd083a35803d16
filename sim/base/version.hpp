// Which program this is.
#pragma once

#include <string>

namespace foretrain {

/// "0.2.0"
const char* version();

/// "0.2.0 (commit 39fc904)", with "+" where files differed from the commit; without where unknown.
std::string version_with_commit();

/// This very program: what its linker has derived from all of its code (GNU build id, in
/// hexadecimal digits); empty where the linker leaves none.
std::string build_id();

} // namespace foretrain
