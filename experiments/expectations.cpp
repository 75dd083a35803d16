// Expectations of an experiment file, held against its result.
#include "experiments/predict.hpp"

#include "sim/base/text.hpp"

#include <cmath>
#include <optional>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

// Whether the point has these values: among what the sweep varies, else in the file itself.
bool applies(const ExpectationSpec& expectation, const Json& settings, const Json& input)
{
  if (!expectation.point)
    return true;
  for (const auto& wanted : expectation.point.json().items()) {
    const Json::json_pointer at(wanted.key());
    if (settings.contains(wanted.key()) ? settings.at(wanted.key()) != wanted.value()
                                        : !input.contains(at) || input.at(at) != wanted.value())
      return false;
  }
  return true;
}

// A number of a job's results; a range stands for its median.
std::optional<double> number_of(const Json& found)
{
  if (found.is_number())
    return found.get<double>();
  if (found.is_object() && found.contains("median"))
    return found.at("median").get<double>();
  return std::nullopt;
}

std::string violation(const ExpectationSpec& expectation, double number, const std::string& what)
{
  // Bounds on equal values must not fail on the last bit.
  const double slack = 1e-9 * std::abs(number);
  if (expectation.at_least && number < *expectation.at_least - slack)
    return fmt::format("{} {:.6g}, expected at least {:g}", what, number, *expectation.at_least);
  if (expectation.at_most && number > *expectation.at_most + slack)
    return fmt::format("{} {:.6g}, expected at most {:g}", what, number, *expectation.at_most);
  return "";
}

// The job of the same name at the point that has the settings of `point` except where `than` says
// otherwise; null when there is none.
const Json* counterpart(const Json& result, const Json& point, const Json& job,
                        const ExpectationSpec& expectation)
{
  Json wanted = point.at("settings");
  if (expectation.than)
    wanted.update(expectation.than.json());
  const Json& name = expectation.than_job.empty() ? job.at("name") : Json(expectation.than_job);
  for (const Json& other : result.at("points"))
    if (other.contains("jobs") && other.at("settings") == wanted)
      for (const Json& candidate : other.at("jobs"))
        if (candidate.at("name") == name)
          return &candidate;
  return nullptr;
}

std::string violation(const ExpectationSpec& expectation, const Json& result, const Json& point,
                      const Json& job)
{
  const Json::json_pointer at(expectation.quantity);
  if (!job.contains(at)) {
    std::vector<std::string> known;
    const Json flat = job.flatten();
    for (const auto& entry : flat.items())
      known.push_back(entry.key());
    const std::string meant = nearest(expectation.quantity, known);
    return "is not in the results" + (meant.empty() ? "" : "; did you mean '" + meant + "'?");
  }
  const Json& found = job.at(at);
  if (expectation.contains) {
    if (!found.is_string() ||
        found.get<std::string>().find(*expectation.contains) == std::string::npos)
      return fmt::format("is {}, expected to contain '{}'", found.dump(), *expectation.contains);
    return "";
  }
  const auto number = number_of(found);
  if (!number)
    return "is not a number";
  if (!expectation.than && expectation.than_job.empty())
    return violation(expectation, *number, "is");
  const Json* other = counterpart(result, point, job, expectation);
  const auto reference =
      other != nullptr && other->contains(at) ? number_of(other->at(at)) : std::nullopt;
  if (!reference)
    return "has nothing to be compared with: no such point or job";
  return violation(expectation, *number / *reference,
                   fmt::format("is {:.6g} against {:.6g}, ratio", *number, *reference));
}

} // namespace

std::vector<std::string> violated_expectations(const ExperimentSpec& spec, const Json& result,
                                               bool narrowed)
{
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < spec.expect.size(); ++i) {
    const ExpectationSpec& expectation = spec.expect[i];
    bool met_any = false;
    for (const Json& point : result.at("points")) {
      if (!point.contains("jobs") ||
          !applies(expectation, point.at("settings"), result.at("input")))
        continue;
      for (const Json& job : point.at("jobs")) {
        if (!expectation.job.empty() && job.at("name") != expectation.job)
          continue;
        met_any = true;
        // With --set or fewer points the point to compare with may be gone.
        if (narrowed && (expectation.than || !expectation.than_job.empty()) &&
            counterpart(result, point, job, expectation) == nullptr)
          continue;
        const std::string problem = violation(expectation, result, point, job);
        if (!problem.empty())
          lines.push_back(fmt::format("/expect/{}: {} of job '{}' at {} {}", i,
                                      expectation.quantity, job.at("name").get<std::string>(),
                                      point.at("settings").dump(), problem));
      }
    }
    if (!met_any && !narrowed)
      lines.push_back(fmt::format("/expect/{}: is about no point or job of this experiment", i));
  }
  return lines;
}

} // namespace foretrain::experiments
