// A number made of predictions, and what every cause of error does to it, to first order. Causes
// are independent, and one that two numbers share moves both: what it does to both alike cancels in
// their ratio or difference, as with the same draws on both sides.
#pragma once

#include "experiments/run/keep/range.hpp"

#include <map>
#include <string>
#include <vector>

namespace foretrain::experiments {

struct LinearNumber {
  double value = 0;
  /// Change of the value by one standard deviation of a cause.
  std::map<std::string, double> effects{};
  /// The same by guests of a layer of the host: those that are set up worse than the one in the
  /// middle, and those that are set up better, are each a cause of one direction.
  std::map<std::string, double> guests{};
  bool difference = false; // may be of either sign: its interval is not of a logarithm
};

LinearNumber operator/(const LinearNumber& a, const LinearNumber& b);
LinearNumber operator-(const LinearNumber& a, const LinearNumber& b);
LinearNumber operator*(double factor, LinearNumber number);
/// Not of none.
LinearNumber mean_of(const std::vector<LinearNumber>& numbers);

/// Where the number lies with this probability. Its standard deviation is s = sqrt(sum of squared
/// effects), on each side with those of guests that lead there; of ratios and rates value * exp(+-k
/// s / value), as `compare` has it, of differences value +- k s.
Range interval_of(const LinearNumber& number, double interval);

} // namespace foretrain::experiments
