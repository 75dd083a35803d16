#include "calibration/correlated.hpp"

#include <Eigen/Dense>

namespace foretrain::calibration {

namespace {

Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>
decomposed(const std::vector<std::vector<double>>& symmetric)
{
  const auto n = static_cast<Eigen::Index>(symmetric.size());
  Eigen::MatrixXd matrix(n, n);
  for (Eigen::Index i = 0; i < n; ++i)
    for (Eigen::Index k = 0; k < n; ++k)
      matrix(i, k) = symmetric[static_cast<std::size_t>(i)][static_cast<std::size_t>(k)];
  return Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(matrix);
}

} // namespace

double smallest_eigenvalue(const std::vector<std::vector<double>>& symmetric)
{
  return decomposed(symmetric).eigenvalues().minCoeff();
}

std::vector<std::vector<double>>
correlation_root(const std::vector<std::vector<double>>& correlation)
{
  const auto n = static_cast<Eigen::Index>(correlation.size());
  const auto solver = decomposed(correlation);
  Eigen::MatrixXd root =
      solver.eigenvectors() * solver.eigenvalues().cwiseMax(0).cwiseSqrt().asDiagonal();
  std::vector<std::vector<double>> result(correlation.size());
  for (Eigen::Index i = 0; i < n; ++i) {
    const double length = root.row(i).norm();
    for (Eigen::Index k = 0; k < n; ++k)
      result[static_cast<std::size_t>(i)].push_back(length > 0 ? root(i, k) / length : 0);
  }
  return result;
}

} // namespace foretrain::calibration
