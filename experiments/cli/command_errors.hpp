// What is wrong with a command line, in the words of this program instead of the library's.
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace foretrain::cli {

/// One problem and a hint: which word was found, what is allowed, the nearest name. `words` are
/// those of the command line after the program's name.
std::string command_error(const CLI::App& app, const CLI::ParseError& error,
                          const std::vector<std::string>& words);

} // namespace foretrain::cli
