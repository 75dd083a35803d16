#include "calibration/least_squares.hpp"

#include <Eigen/Dense>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include <fmt/format.h>

namespace foretrain::calibration {

namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double kNull = 1e-7; // of the largest singular value: below, a direction is unknown
constexpr double kOutlier = 3; // standard deviations
constexpr double kNormalMad = 1.4826; // standard deviation over median absolute deviation

// Parameters as the solver sees them: logarithms, or values over their scale.
class Coordinates {
public:
  explicit Coordinates(const std::vector<FitParameter>& parameters) : parameters_(parameters)
  {
    for (const FitParameter& p : parameters) {
      if (!(p.start >= p.low && p.start <= p.high) || (p.logarithmic && p.start <= 0))
        throw std::invalid_argument(
            fmt::format("{} cannot start at {:g}: it lies outside its range", p.name, p.start));
      scales_.push_back(p.scale > 0 ? p.scale : p.start != 0 ? std::abs(p.start) : 1.0);
    }
  }

  std::size_t size() const { return parameters_.size(); }

  VectorXd start() const
  {
    VectorXd u(static_cast<Eigen::Index>(size()));
    for (std::size_t i = 0; i < size(); ++i)
      u[static_cast<Eigen::Index>(i)] = inner(i, parameters_[i].start);
    return u;
  }
  double low(std::size_t i) const
  {
    const FitParameter& p = parameters_[i];
    return p.logarithmic && p.low <= 0 ? -std::numeric_limits<double>::infinity() : inner(i, p.low);
  }
  double high(std::size_t i) const { return inner(i, parameters_[i].high); }
  double value(std::size_t i, double u) const
  {
    return parameters_[i].logarithmic ? std::exp(u) : u * scales_[i];
  }
  std::vector<double> values(const VectorXd& u) const
  {
    std::vector<double> result;
    for (std::size_t i = 0; i < size(); ++i)
      result.push_back(value(i, u[static_cast<Eigen::Index>(i)]));
    return result;
  }
  /// Change of a value for a change of its coordinate.
  double slope(std::size_t i, double u) const
  {
    return parameters_[i].logarithmic ? std::exp(u) : scales_[i];
  }
  VectorXd clamped(VectorXd u) const
  {
    for (std::size_t i = 0; i < size(); ++i) {
      double& it = u[static_cast<Eigen::Index>(i)];
      it = std::clamp(it, low(i), high(i));
    }
    return u;
  }

private:
  double inner(std::size_t i, double value) const
  {
    return parameters_[i].logarithmic ? std::log(value) : value / scales_[i];
  }
  const std::vector<FitParameter>& parameters_;
  std::vector<double> scales_;
};

double median(std::vector<double> values)
{
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  return n == 0 ? 0 : 0.5 * (values[(n - 1) / 2] + values[n / 2]);
}

class Solver {
public:
  Solver(const std::vector<FitParameter>& parameters, const Residuals& residuals,
         const FitOptions& options)
      : at_(parameters), names_(parameters), residuals_(residuals), options_(options),
        u_(at_.start()), r_(evaluate(u_))
  {
    if (!r_.allFinite())
      throw std::invalid_argument("the residuals are not finite at the start");
  }

  Fit run()
  {
    // The scale of the noise and the fit depend on each other; a few rounds settle both.
    for (int round = 0; round < 5; ++round) {
      noise_ = noise();
      descend();
      if (options_.noise_known || std::abs(noise() - noise_) < 0.05 * noise_)
        break;
    }
    noise_ = noise();
    return report();
  }

private:
  VectorXd evaluate(const VectorXd& u)
  {
    ++evaluations_;
    const std::vector<double> r = residuals_(at_.values(u));
    return Eigen::Map<const VectorXd>(r.data(), static_cast<Eigen::Index>(r.size()));
  }

  MatrixXd jacobian()
  {
    MatrixXd j(r_.size(), u_.size());
    const double h = options_.derivative_step;
    for (Eigen::Index i = 0; i < u_.size(); ++i) {
      VectorXd above = u_;
      VectorXd below = u_;
      above[i] = std::min(u_[i] + h, at_.high(static_cast<std::size_t>(i)));
      below[i] = std::max(u_[i] - h, at_.low(static_cast<std::size_t>(i)));
      j.col(i) = above[i] > below[i]
                     ? VectorXd((evaluate(above) - evaluate(below)) / (above[i] - below[i]))
                     : VectorXd::Zero(r_.size());
    }
    return j;
  }

  double noise() const { return options_.noise_known ? 1 : scatter(); }

  // Robust standard deviation of the residuals; 1 when there are too few to tell.
  double scatter() const
  {
    const auto n = static_cast<double>(r_.size());
    const auto p = static_cast<double>(u_.size());
    if (n <= p)
      return 1;
    std::vector<double> sizes;
    for (const double r : r_)
      sizes.push_back(std::abs(r));
    return std::max(1e-12, kNormalMad * median(sizes) * std::sqrt(n / (n - p)));
  }

  double weight(double r) const
  {
    const double bound = options_.huber * noise_;
    return std::abs(r) <= bound ? 1 : bound / std::abs(r);
  }
  VectorXd weights() const
  {
    return r_.unaryExpr([this](double r) { return weight(r); });
  }
  double loss(const VectorXd& r) const
  {
    const double bound = options_.huber * noise_;
    double sum = 0;
    for (const double it : r)
      sum += huber_loss(it, bound);
    return sum;
  }

  // Coordinates at a bound that the descent would cross stay where they are.
  void hold_at_bounds(MatrixXd& a, VectorXd& g) const
  {
    for (Eigen::Index i = 0; i < u_.size(); ++i) {
      const auto k = static_cast<std::size_t>(i);
      if (!((u_[i] <= at_.low(k) && g[i] > 0) || (u_[i] >= at_.high(k) && g[i] < 0)))
        continue;
      a.row(i).setZero();
      a.col(i).setZero();
      a(i, i) = 1;
      g[i] = 0;
    }
  }

  void descend()
  {
    double damping = 1e-3;
    converged_ = false;
    for (int i = 0; i < options_.iterations && !converged_; ++i) {
      const MatrixXd j = jacobian();
      const VectorXd w = weights();
      MatrixXd a = j.transpose() * w.asDiagonal() * j;
      VectorXd g = j.transpose() * w.cwiseProduct(r_);
      hold_at_bounds(a, g);
      if (!step(a, g, damping))
        return;
    }
  }

  // One accepted step, with as much damping as it takes; false when there is none.
  bool step(const MatrixXd& a, const VectorXd& g, double& damping)
  {
    const double before = loss(r_);
    const double floor = std::max(1e-300, 1e-12 * a.diagonal().maxCoeff());
    for (int attempt = 0; attempt < 40; ++attempt) {
      MatrixXd damped = a;
      damped.diagonal() += damping * a.diagonal().cwiseMax(floor);
      VectorXd change = damped.ldlt().solve(-g);
      if (!change.allFinite())
        return false;
      // A model is not trusted further than a factor of e at a time. Each parameter is cut by
      // itself: one that hardly matters may ask for a large change and must not stop the others.
      change = change.cwiseMax(-1.0).cwiseMin(1.0);
      const VectorXd u = at_.clamped(u_ + change);
      const double moved = (u - u_).cwiseAbs().maxCoeff();
      if (moved < std::max(1e-10, options_.enough)) {
        converged_ = true;
        return true;
      }
      VectorXd r = evaluate(u);
      const double after = r.allFinite() ? loss(r) : std::numeric_limits<double>::infinity();
      if (after <= before) {
        converged_ = before - after <= options_.enough * before;
        u_ = u;
        r_ = std::move(r);
        damping = std::max(1e-12, damping / 5);
        return true;
      }
      damping *= 4;
    }
    converged_ = true; // no way down is left within rounding
    return true;
  }

  Fit report()
  {
    Fit fit;
    const VectorXd w = weights();
    for (Eigen::Index i = 0; i < r_.size(); ++i)
      fit.rows.push_back({r_[i], w[i], std::abs(r_[i]) > kOutlier * noise_});
    const MatrixXd j = w.cwiseSqrt().asDiagonal() * jacobian();
    knowledge(j, fit);
    fit.noise = noise_;
    fit.scatter = scatter();
    fit.evaluations = evaluations_;
    fit.converged = converged_;
    return fit;
  }

  // The standard deviation that the misfit itself suggests, where it is larger than the noise.
  double inflation(const MatrixXd& j) const
  {
    const auto rows = static_cast<double>(j.rows());
    const auto columns = static_cast<double>(j.cols());
    if (rows <= columns)
      return noise_;
    const double scale = std::max(noise_, scatter());
    double sum = 0;
    for (const double r : r_) {
      const double kept = std::min(std::abs(r), options_.huber * scale);
      sum += kept * kept;
    }
    // Huber's proposal 2: expectation of the clipped square under the normal distribution.
    const double k = options_.huber;
    const double density = std::exp(-0.5 * k * k) / std::sqrt(2 * M_PI);
    const double inside = std::erf(k / std::sqrt(2.0));
    const double expected = inside - 2 * k * density + k * k * (1 - inside);
    const double spread = std::sqrt(sum / (rows - columns) / expected);
    return options_.noise_known ? std::max(noise_, spread) : spread;
  }

  // Covariance by singular value decomposition: each right singular vector is a combination of
  // parameters, and noise over its singular value is how well the measurements know it.
  void knowledge(const MatrixXd& j, Fit& fit) const
  {
    const Eigen::Index n = j.cols();
    Eigen::JacobiSVD<MatrixXd> svd(j, Eigen::ComputeFullV | Eigen::ComputeThinU);
    VectorXd s = VectorXd::Zero(n);
    s.head(svd.singularValues().size()) = svd.singularValues();
    const MatrixXd& v = svd.matrixV();
    const double floor = s.size() > 0 ? kNull * s[0] : 0;
    const double noise = inflation(j);
    const VectorXd spread =
        s.unaryExpr([&](double it) { return it > floor ? noise / it : 1 / kNull; });
    const MatrixXd covariance = v * spread.cwiseAbs2().asDiagonal() * v.transpose();
    for (Eigen::Index i = 0; i < n; ++i)
      fit.parameters.push_back(describe(i, j, v, spread, std::sqrt(covariance(i, i))));
    for (Eigen::Index a = 0; a < n; ++a) {
      fit.correlation.emplace_back();
      for (Eigen::Index b = 0; b < n; ++b) {
        const double product = std::sqrt(covariance(a, a) * covariance(b, b));
        fit.correlation.back().push_back(a == b ? 1 : product > 0 ? covariance(a, b) / product : 0);
      }
    }
  }

  FittedParameter describe(Eigen::Index i, const MatrixXd& j, const MatrixXd& v,
                           const VectorXd& spread, double deviation) const
  {
    const auto k = static_cast<std::size_t>(i);
    FittedParameter p;
    p.name = names_[k].name;
    p.value = at_.value(k, u_[i]);
    p.at_bound = u_[i] <= at_.low(k) || u_[i] >= at_.high(k);
    p.without_effect = j.col(i).cwiseAbs().maxCoeff() == 0;
    p.spread = p.without_effect ? std::numeric_limits<double>::infinity()
                                : deviation * at_.slope(k, u_[i]);
    p.known = !p.at_bound && !p.without_effect && deviation < options_.largest_spread;
    if (p.known || p.without_effect)
      return p;
    for (Eigen::Index other = 0; other < v.rows(); ++other) {
      bool together = false;
      for (Eigen::Index d = 0; d < v.cols(); ++d)
        together |= spread[d] > options_.largest_spread && std::abs(v(i, d)) > 0.1 &&
                    std::abs(v(other, d)) > 0.1;
      if (other != i && together)
        p.together_with.push_back(names_[static_cast<std::size_t>(other)].name);
    }
    return p;
  }

  Coordinates at_;
  const std::vector<FitParameter>& names_;
  const Residuals& residuals_;
  FitOptions options_;
  int evaluations_ = 0;
  VectorXd u_;
  VectorXd r_;
  double noise_ = 1;
  bool converged_ = false;
};

} // namespace

double huber_loss(double residual, double bound)
{
  const double size = std::abs(residual);
  return size <= bound ? size * size : bound * (2 * size - bound);
}

Fit fit(const std::vector<FitParameter>& parameters, const Residuals& residuals,
        const FitOptions& options)
{
  return Solver(parameters, residuals, options).run();
}

} // namespace foretrain::calibration
