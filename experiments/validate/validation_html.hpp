// What `foretrain validate` found, as one HTML file that needs nothing else.
#pragma once

#include "sim/base/document.hpp"

#include <string>

namespace foretrain::experiments {

std::string validation_html(const Json& result);

} // namespace foretrain::experiments
