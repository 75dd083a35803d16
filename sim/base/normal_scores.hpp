// What to expect of n things of one kind that differ by chance.
#pragma once

namespace foretrain::sim {

/// The i-th smallest (0 to n - 1) of n standard normal draws, as it is on average: G. Blom,
/// Statistical Estimates and Transformed Beta-Variables, 1958. They add up to 0; one alone is 0.
double normal_score(int i, int n);

/// The largest of n standard normal draws on average.
double largest_normal_score(int n);

} // namespace foretrain::sim
