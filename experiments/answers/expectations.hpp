// Expectations of an experiment file, held against its result.
#pragma once

#include "experiments/run/keep/result.hpp"
#include "experiments/spec/experiment.hpp"

#include <optional>
#include <string>
#include <vector>

namespace foretrain::experiments {

/// One expectation at one point and job.
struct JudgedExpectation {
  std::size_t index = 0; // in the file's "expect"
  std::string what;      // quantity, job and point; empty when it is about none
  std::string problem;   // why the predicted value violates it; empty when it does not
  /// Probability that it is violated, where the spread of the quantity is known.
  std::optional<double> chance{};
};

/// Whether --set or a profile changed anything but what is expected: points that an expectation is
/// about may be gone then.
bool is_narrowed(const Document& experiment);

/// Every expectation at every point and job that it is about. One that is about none has a problem,
/// unless --set `narrowed` the experiment.
std::vector<JudgedExpectation> judged_expectations(const ExperimentSpec& spec,
                                                   const ExperimentResult& result, bool narrowed);

/// A job at a point that needs more device memory than there is.
struct Misfit {
  std::string what;    // job and point
  std::string problem; // what it needs, and what there is
};

/// Those of which no expectation says whether they fit: nobody asked for rates that nobody gets.
std::vector<Misfit> unexpected_misfits(const ExperimentSpec& spec, const ExperimentResult& result);

/// One line for each expectation of the experiment that the result violates, or that is about no
/// point of it, unless --set `narrowed` the experiment.
std::vector<std::string> violated_expectations(const ExperimentSpec& spec,
                                               const ExperimentResult& result, bool narrowed);

} // namespace foretrain::experiments
