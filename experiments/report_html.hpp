// A result as one web page that needs nothing but a browser: no network, no other file.
#pragma once

#include "sim/base/document.hpp"

#include <string>

namespace foretrain::experiments {

std::string report_html(const Json& result);

} // namespace foretrain::experiments
