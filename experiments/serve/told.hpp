// What a command has written, ready for the page: messages with their places, answers in a line,
// drawings.
#pragma once

#include "sim/base/json.hpp"

#include <string>

namespace foretrain::serve {

/// The messages on standard error: "kind" (error, note), "file", "line", "column", "pointer",
/// "problem", "hint", as far as told.
Json messages_in(const std::string& text);

/// One message of the server's own.
Json message(const std::string& problem, const std::string& hint = "");

/// JSON in a line, every character of its numbers as it was.
std::string in_a_line(std::string json);

/// What stands between <main> and </main> of a report; "" where it has none.
std::string main_of(const std::string& page);

/// Whether it is an answer of predict or sweep.
bool is_prediction(const Json& answer);

/// Whether there is anything to draw: an answer whose points did not all fail.
bool has_result(const Json& answer);

/// Points of two predictions as those of one whose setting /answer tells them apart.
Json together(const Json& now, const Json& before);

} // namespace foretrain::serve
