// Expectations of an experiment file, held against its result.
#include "experiments/predict.hpp"

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

std::string violation(const ExpectationSpec& expectation, const Json& found)
{
  if (expectation.contains) {
    if (!found.is_string() ||
        found.get<std::string>().find(*expectation.contains) == std::string::npos)
      return fmt::format("is {}, expected to contain '{}'", found.dump(), *expectation.contains);
    return "";
  }
  if (!found.is_number())
    return "is not a number";
  const auto number = found.get<double>();
  if (expectation.at_least && number < *expectation.at_least)
    return fmt::format("is {:.6g}, expected at least {:g}", number, *expectation.at_least);
  if (expectation.at_most && number > *expectation.at_most)
    return fmt::format("is {:.6g}, expected at most {:g}", number, *expectation.at_most);
  return "";
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
        const Json::json_pointer at(expectation.quantity);
        const std::string problem =
            job.contains(at) ? violation(expectation, job.at(at)) : "is not in the results";
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
