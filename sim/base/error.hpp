// How a mistake is reported: where, what was found, what would be right.
#pragma once

#include <stdexcept>
#include <string>

namespace foretrain {

/// A file is wrong (exit 2). what() reads "file:line:col: error: /pointer problem" with the hint on
/// a second line.
class ConfigError : public std::runtime_error {
public:
  ConfigError(const std::string& where, const std::string& pointer, const std::string& problem,
              const std::string& hint = "");
};

/// The command line is wrong (exit 2).
class UsageError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// The simulation cannot go on although work is left (exit 3); what() names what waits for what.
class StallError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

} // namespace foretrain
