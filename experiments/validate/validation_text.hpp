// The figures of a summary as people read them; the same in tables and HTML.
#pragma once

#include "sim/base/document.hpp"

#include <string>

namespace foretrain::experiments {

struct SummaryText {
  std::string rows;
  std::string mean;
  std::string maximum;
  std::string bias;
  std::string ratios;  // "3.1 / 9.2 % (12)": mean, maximum and number
  std::string order;   // "17 of 18" pairs in the measured order
  std::string covered; // "9 of 10" measured inside the interval
  std::string gate;    // "< 5.5 / 12.0 %", with "passed" where an error is larger
};

SummaryText summary_text(const Json& entry);

/// -0.123 is "-12.3 %"
std::string signed_percent(double share);

} // namespace foretrain::experiments
