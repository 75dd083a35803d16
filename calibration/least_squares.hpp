// Robust nonlinear least squares: which parameter values make a model follow measurements, how well
// the measurements know them, and which they do not know at all.
//
// Minimises the sum of Huber's loss of the residuals (Huber 1964) with the method of Levenberg and
// Marquardt: a residual far outside the others pulls with constant force instead of growing force.
// Nothing is dropped: outliers are named in the result.
#pragma once

#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace foretrain::calibration {

struct FitParameter {
  std::string name;
  double start = 1;
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool logarithmic = true; // positive: fitted as its logarithm
  double scale = 0;        // of a linear one: what a large change is; 0: |start|, or 1
};

struct FitOptions {
  double huber = 1.345;    // standard deviations up to which residuals count in full
  bool noise_known = true; // residuals come in standard deviations of the measurement; else their
                           // scale is taken from the residuals themselves
  /// A parameter is known when its standard deviation is below this share of its value (of its
  /// scale, if linear).
  double largest_spread = 0.5;
  double derivative_step = 1e-4; // of a parameter's logarithm or scale; differences are central
  int iterations = 60;
  double enough = 1e-12; // a step that lowers the loss, or moves parameters' logarithms, by less
                         // than this is the last
};

struct FittedParameter {
  std::string name;
  double value = 0;
  double spread = 0;           // one standard deviation; infinite when nothing depends on it
  bool known = false;          // by the measurements
  bool at_bound = false;       // the best value lies beyond what is allowed: never known
  bool without_effect = false; // no residual depends on it
  std::vector<std::string> together_with; // when unknown: it could trade places with these
};

struct FitRow {
  double residual = 0;  // at the solution
  double weight = 1;    // 1 in full, less for what lies outside
  bool outlier = false; // beyond three standard deviations
};

struct Fit {
  std::vector<FittedParameter> parameters;
  std::vector<std::vector<double>> correlation; // of parameters; 0 beside those without effect
  std::vector<FitRow> rows;
  double noise = 1;   // standard deviation of the residuals: what is known of it, or scatter
  double scatter = 1; // their robust standard deviation
  int evaluations = 0;
  bool converged = false;
};

/// Huber's loss of a residual: its square up to `bound` (in the residual's unit), linear beyond.
double huber_loss(double residual, double bound);

/// Residuals (predicted - measured, each over its standard deviation) at given parameter values.
using Residuals = std::function<std::vector<double>(const std::vector<double>&)>;

/// Throws std::invalid_argument when a start lies outside its bounds, a logarithmic one is not
/// positive, or residuals are not finite at the start.
Fit fit(const std::vector<FitParameter>& parameters, const Residuals& residuals,
        const FitOptions& options = {});

} // namespace foretrain::calibration
