// What `foretrain validate` found, for terminals and spreadsheets.
#pragma once

#include "sim/base/document.hpp"

#include <string>

namespace foretrain::experiments {

/// Per suite: errors by regime and by part, then the `worst` rows of the largest error.
std::string validation_table(const Json& result, std::size_t worst);

/// One line per row, all suites.
std::string validation_csv(const Json& result);

} // namespace foretrain::experiments
