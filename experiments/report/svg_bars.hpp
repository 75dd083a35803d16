// Horizontal bars as wide as their place, as inline SVG: stacked parts, values with an interval,
// and utilisations. They print where CSS backgrounds would not.
#pragma once

#include <string>
#include <vector>

namespace foretrain::experiments {

struct BarPart {
  double length = 0; // as a share of the whole width
  std::string style; // CSS class
  std::string text;  // written inside where it fits
  std::string tip;
};

/// Parts side by side from the left.
std::string stacked_bar(const std::vector<BarPart>& parts, const std::string& description);

/// A bar with a whisker from `low` to `high` and, unless it is 0, a mark; as shares of the width.
struct ValueBar {
  double length = 0;
  double low = 0;
  double high = 0;
  double mark = 0;
  std::size_t look = 0;
};
std::string value_bar(const ValueBar& bar, const std::string& description);

/// How much of something is used, 0 to 1.
std::string meter(double share, const std::string& description);

} // namespace foretrain::experiments
