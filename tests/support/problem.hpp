// What a reader says of wrong input.
#pragma once

#include "sim/base/error.hpp"

#include <string>

namespace foretrain::test {

/// The text of the ConfigError that `read` ends in; "no error" where it does not.
template <class Read>
std::string problem_of(const Read& read)
{
  try {
    read();
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

} // namespace foretrain::test
