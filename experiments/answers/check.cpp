#include "experiments/answers/check.hpp"

#include "experiments/answers/compare.hpp"
#include "sim/base/error.hpp"
#include "sim/base/file_name.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

CheckState state_of(double chance, const CheckOptions& options)
{
  if (chance >= options.confidence || (options.strict && chance > 1 - options.confidence))
    return CheckState::failed;
  return chance > 1 - options.confidence ? CheckState::undecided : CheckState::passed;
}

// "line:col", or "" where it does not stand in the file's text.
std::string place_of(const Document& document, const std::string& pointer)
{
  if (!document.places)
    return locate(document.text, pointer);
  const auto it = document.places->find(pointer);
  return it == document.places->end() ? "" : it->second.value;
}

// The jobs of all points against those that the baseline holds.
void add_baseline(const LoadedExperiment& experiment, const Prediction& prediction,
                  const CheckOptions& options, std::vector<CheckCase>& cases)
{
  const std::string file = baseline_file(*options.baseline, experiment.spec.name);
  if (!std::filesystem::exists(file)) {
    cases.push_back({"baseline", CheckState::undecided,
                     "there is none yet: " + file + " (--update-baseline writes it)", ""});
    return;
  }
  CompareOptions bounds;
  bounds.fail_below = 1 - options.tolerance;
  bounds.confidence = options.confidence;
  bounds.settings_alone = false;
  try {
    const CompareAnswer answer =
        compare(side_of_result(file),
                side_of_prediction(experiment, prediction.result, experiment.spec.name), bounds);
    for (const JobComparison& pair : answer.pairs) {
      CheckCase result;
      result.name =
          fmt::format("baseline: throughput of job '{}' at {}", pair.job, pair.settings.dump());
      const double broken = pair.bounds.front().probability_broken;
      result.state = state_of(broken, options);
      if (result.state != CheckState::passed)
        result.message = fmt::format(
            "is {:.1f} % of the baseline's; below {:.0f} % with a probability of {:.0f} %",
            100 * pair.ratio.median, 100 * (1 - options.tolerance), 100 * broken);
      cases.push_back(std::move(result));
    }
    if (const std::size_t gone = answer.unmatched.a; gone > 0)
      cases.push_back({"baseline", CheckState::undecided,
                       fmt::format("{} of its points are no longer in the experiment", gone), ""});
  } catch (const UsageError& error) {
    cases.push_back({"baseline", CheckState::undecided, error.what(), ""});
  }
}

// Whether a file below a directory claims to be an experiment or a fleet.
bool can_be_checked(const std::filesystem::path& path)
{
  try {
    const auto document = load_document(path);
    if (!document->root.is_object())
      return false;
    if (const auto format = document->root.find("format"); format != document->root.end())
      return format->is_string() &&
             (format->get<std::string>().starts_with("foretrain.experiment/") ||
              format->get<std::string>().starts_with("foretrain.fleet/"));
    return document->root.contains("cluster") &&
           (document->root.contains("jobs") || document->root.contains("arrivals"));
  } catch (const ConfigError&) {
    return true; // a broken file is told, not skipped
  }
}

} // namespace

std::vector<std::string> experiments_below(const std::vector<std::string>& paths)
{
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    if (!std::filesystem::is_directory(path)) {
      files.push_back(path);
      continue;
    }
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path))
      if (entry.is_regular_file() && is_file_name(entry.path().string()) &&
          entry.path().extension() != ".gz" && // recordings and logs are kept so
          can_be_checked(entry.path()))
        found.push_back(entry.path().string());
    if (found.empty())
      throw UsageError("there is no experiment or fleet in '" + excerpt(path, 200) + "'");
    std::sort(found.begin(), found.end());
    files.insert(files.end(), found.begin(), found.end());
  }
  return files;
}

CheckCase case_of(const JudgedExpectation& it, const Document& document,
                  const CheckOptions& options)
{
  const bool violated = !it.problem.empty();
  CheckCase result;
  result.name = fmt::format("/expect/{}{}{}", it.index, it.what.empty() ? "" : ": ", it.what);
  result.state = it.chance  ? state_of(*it.chance, options)
                 : violated ? CheckState::failed
                            : CheckState::passed;
  const std::string at = place_of(document, fmt::format("/expect/{}", it.index));
  result.line = at.substr(0, at.find(':'));
  if (result.state == CheckState::passed)
    return result;
  result.message = violated ? it.problem : "holds by little";
  if (it.chance)
    result.message += fmt::format("; violated with a probability of {:.0f} %", 100 * *it.chance);
  return result;
}

std::string baseline_file(const std::string& directory, const std::string& experiment)
{
  std::string name = experiment.substr(0, 200);
  for (char& c : name)
    if (std::string_view("/\\:").find(c) != std::string_view::npos ||
        static_cast<unsigned char>(c) < 0x20)
      c = '_';
  return directory + "/" + (name.starts_with(".") ? "_" + name : name) + ".json";
}

std::vector<CheckCase> check(const LoadedExperiment& experiment, const Prediction& prediction,
                             const CheckOptions& options)
{
  std::vector<CheckCase> cases;
  for (const std::string& error : prediction.errors)
    cases.push_back({"run", CheckState::error, error, ""});
  if (prediction.errors.empty())
    cases.push_back({"run", CheckState::passed, "", ""});
  for (const Misfit& it : unexpected_misfits(experiment.spec, prediction.result))
    cases.push_back({it.what, CheckState::failed, it.problem, ""});
  for (const JudgedExpectation& it :
       judged_expectations(experiment.spec, prediction.result,
                           is_narrowed(*experiment.document) || !prediction.errors.empty()))
    cases.push_back(case_of(it, *experiment.document, options));
  if (options.baseline)
    add_baseline(experiment, prediction, options, cases);
  return cases;
}

const char* state_name(CheckState state)
{
  switch (state) {
  case CheckState::passed:
    return "passed";
  case CheckState::undecided:
    return "undecided";
  case CheckState::failed:
    return "failed";
  case CheckState::error:
    break;
  }
  return "error";
}

Json check_json(const std::vector<CheckedFile>& files)
{
  std::map<CheckState, int> counts;
  Json list = Json::array();
  for (const CheckedFile& file : files) {
    Json cases = Json::array();
    for (const CheckCase& it : file.cases) {
      ++counts[it.state];
      cases.push_back({{"name", it.name}, {"state", state_name(it.state)}});
      if (!it.message.empty())
        cases.back()["message"] = it.message;
      if (!it.line.empty())
        cases.back()["line"] = std::stoi(it.line);
    }
    list.push_back({{"file", file.file},
                    {"experiment", file.experiment},
                    {"seconds", file.seconds},
                    {"cases", std::move(cases)}});
  }
  return {{"files", std::move(list)},
          {"passed", counts[CheckState::passed]},
          {"undecided", counts[CheckState::undecided]},
          {"failed", counts[CheckState::failed]},
          {"errors", counts[CheckState::error]}};
}

} // namespace foretrain::experiments
