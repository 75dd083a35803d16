// Exchanges between GPUs by the names of kernels, arguments and annotations.
#pragma once

#include <string>

namespace foretrain::models {

/// Whether a kernel of this name moves data between GPUs.
bool names_exchange(const std::string& kernel);

/// "all-reduce", "all-gather", ..., "send"; "other" where the name of an exchange does not tell it.
std::string exchange_kind(const std::string& name);

} // namespace foretrain::models
