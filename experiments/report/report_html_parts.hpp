// What the sections of the HTML report are made of.
#pragma once

#include <string>
#include <vector>

namespace foretrain::experiments {

/// A page that needs nothing else: `title` is plain text, the others are HTML.
std::string page(const std::string& title, const std::string& header, const std::string& body,
                 const std::string& footer);

/// A section with a heading and an anchor; nothing if it has no body.
std::string section(const std::string& anchor, const std::string& title, const std::string& body);

/// Items of which the first ones are shown, more can be unfolded, and the rest is left to the
/// tables. Each group stands between `opening` and `closing`.
std::string folded(const std::vector<std::string>& items, std::size_t shown,
                   const std::string& opening, const std::string& closing);

/// An item of a legend: a square in the look of a bar's part, and its title.
std::string legend_entry(const std::string& style, const std::string& title);

/// A label, a bar (SVG) and a value side by side.
std::string bar_row(const std::string& label, const std::string& bar, const std::string& value);

/// Escaped text in which numbers keep their unit on the same line.
std::string prose(const std::string& text);

/// A resource's or parameter's name, which may break after a slash.
std::string code(const std::string& name);

/// A table cell; `label` names its column where a narrow window stacks the cells.
std::string cell(const std::string& label, const std::string& html);

/// The same of a number that there is not: "-".
std::string number_cell(const std::string& label);

/// A right-aligned cell that sorts by its number.
std::string number_cell(const std::string& label, const std::string& text, double sort_by);

} // namespace foretrain::experiments
