// Draws of variables that depend on each other.
#pragma once

#include <vector>

namespace foretrain::calibration {

/// L with L L' = the correlation matrix: L z of independent standard normal z are standard normal
/// with those correlations. A matrix that rounding has made none is replaced by the nearest one
/// that its eigenvectors allow.
std::vector<std::vector<double>>
correlation_root(const std::vector<std::vector<double>>& correlation);

/// Of a symmetric matrix that is not empty; below zero, it is of no correlations.
double smallest_eigenvalue(const std::vector<std::vector<double>>& symmetric);

} // namespace foretrain::calibration
