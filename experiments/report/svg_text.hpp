// Numbers and texts as people read them, on axes, in tables and on terminals.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace foretrain::experiments {

/// Three or more significant digits, no exponent: 0.0123, 1.23, 12.3, 123, 12345; nine decimals at
/// most, and 0 for what has none of these. With `thousands`, 12,345.
std::string number_text(double value, bool thousands = false);

/// "12,000", "1.5 M": a tick's label.
std::string tick_text(double value);

/// 0.123 is "12 %", 0.004 is "0.4 %".
std::string percent_text(double share);

/// A change with its sign: 0.123 is "+12 %", -0.004 is "-0.4 %", what rounds to nothing is "0 %".
std::string change_text(double share);

/// Columns a text takes on a terminal, and the text cut to that many, without control characters.
std::size_t width_of(std::string_view text);
std::string clipped(std::string_view text, std::size_t columns);

/// Lines of at most `columns`, broken between words.
std::vector<std::string> wrapped(std::string_view text, std::size_t columns);

} // namespace foretrain::experiments
