// What a point's result depends on, as one short text.
#pragma once

#include "experiments/run/keep/result.hpp"
#include "experiments/spec/experiment.hpp"

#include <string>

namespace foretrain::experiments {

/// A name-based UUID (RFC 4122, SHA-1) of the point, of every preset that it names with all that is
/// laid over it, of its profiles, of the table of spreads, of the options, and of this very program
/// (version and build). Names, descriptions, expectations and
/// the way the sweep is written do not count. Throws ConfigError as resolve() does.
std::string fingerprint(const Point& point, const RunOptions& options);

/// A name-based UUID of a text, to tell whether it is still the same.
std::string checksum(const std::string& text);

} // namespace foretrain::experiments
