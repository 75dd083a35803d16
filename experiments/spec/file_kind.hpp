// What a file is: an experiment, a plan or a fleet, by what it holds.
#pragma once

#include "sim/base/document.hpp"

#include <string>

namespace foretrain::experiments {

/// "experiment", "plan", "fleet" or "" for what a file holds; what it extends is not looked at.
std::string kind_of_file(const Json& root);

/// The same of a file or of what is bundled under a name; what a file extends is followed where it
/// says nothing itself. "" for what its reader will refuse. Throws ConfigError for a file that
/// can't be read.
std::string kind_of_named(const std::string& name_or_path);

} // namespace foretrain::experiments
