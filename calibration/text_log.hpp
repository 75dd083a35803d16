// Logs as lines of words, with the place of everything that is wrong.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace foretrain::calibration {

inline constexpr std::size_t kLogBytes = std::size_t{64} << 20;

struct LogLine {
  int number = 0;   // from 1
  std::string text; // without colours, carriage returns and launchers' labels: "[1,0]<stdout>:"
  std::vector<std::string> words;
};

/// A number as it was printed: the value and how far rounding may have moved it.
struct Printed {
  double value = 0;
  double slack = 0; // half a unit of the last digit printed
};

/// Throws ConfigError when the text is too large or holds zero bytes.
std::vector<LogLine> log_lines(const std::string& text, const std::string& name);

[[noreturn]] void fail(const std::string& name, int line, const std::string& problem,
                       const std::string& hint = "");

/// A finite decimal number; nothing else, no "nan", no hexadecimal, no trailing letters.
std::optional<Printed> printed_number(std::string_view word);
/// A whole number without sign, at most 10^15.
std::optional<long long> whole_number(std::string_view word);

/// Reads a file of at most kLogBytes. Throws ConfigError.
std::string read_log(const std::string& path);

} // namespace foretrain::calibration
