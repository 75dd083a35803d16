#include "sim/base/error.hpp"

namespace foretrain {

namespace {
std::string message(const std::string& where, const std::string& pointer,
                    const std::string& problem, const std::string& hint)
{
  std::string text = where + ": error: ";
  if (!pointer.empty())
    text += pointer + " ";
  text += problem;
  if (!hint.empty())
    text += "\n  hint: " + hint;
  return text;
}
} // namespace

ConfigError::ConfigError(const std::string& where, const std::string& pointer,
                         const std::string& problem, const std::string& hint)
    : std::runtime_error(message(where, pointer, problem, hint))
{
}

} // namespace foretrain
