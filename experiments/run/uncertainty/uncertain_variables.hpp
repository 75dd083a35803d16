// Which parameters of a point are uncertain, and points with other values of them.
//
// Every parameter that has a spread (of a profile, of the preset itself under "spread", or of its
// kind in calibration/data/spreads.json) is a variable, log-normal around its value; parameters of
// one line of that table move together, those of a profile as their correlations say. A preset may
// say that a value is the most that there is ("up to"): it is then at most itself.
#pragma once

#include "experiments/spec/resolve.hpp"

#include <string>
#include <vector>

namespace foretrain::experiments {

/// One independent cause of error. Presets that say the same are one thing, wherever they stand.
struct Variable {
  struct At {
    std::string pointer;
    Measure value;
    double smallest; // that the format allows, SI
    double largest;
    std::string missing{}; // the object that should hold it, where the preset has none
    std::string preset{};  // id
  };
  std::string name;     // "gpu v100-sxm2-16gb: efficiency of dense kernels"
  std::string kind;     // of preset; "anchor" for the anchor of a job, "job" for a value of its own
  std::vector<At> at;   // multiplied by one factor
  double spread = 0;    // standard deviation of its logarithm
  bool at_most = false; // the value is the most that it can be: it varies downwards alone
  int profile = -1;     // that taught it, by its place, and which of its parameters it is
  int parameter = -1;
  double of_several = 0; // part of the spread that a run of the job on one GPU does not have
};

/// The variables of a point. Throws ConfigError for a "spread" in a preset that is about nothing.
std::vector<Variable> variables_of(const ResolvedExperiment& experiment, const Point& point);

/// The point with the logarithms of some variables shifted: `shift[i]` for `variables[i]`, cut
/// where the format allows no more.
Point shifted(const Point& point, const std::vector<Variable>& variables,
              const std::vector<double>& shift);

/// Correlation of two variables as their profile tells it; 0 for others.
double correlation(const Point& point, const Variable& a, const Variable& b);

} // namespace foretrain::experiments
