// What a point's result depends on, as one short text.
#pragma once

#include "experiments/experiment.hpp"
#include "experiments/result.hpp"

#include <string>

namespace foretrain::experiments {

/// A name-based UUID (RFC 4122, SHA-1) of the point, of every preset that it names with all that is
/// laid over it, of the options, and of foretrain's version. Names, descriptions, expectations and
/// the way the sweep is written do not count. Throws ConfigError as resolve() does.
std::string fingerprint(const Point& point, const RunOptions& options);

} // namespace foretrain::experiments
