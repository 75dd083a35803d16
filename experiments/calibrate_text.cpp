// What a calibration learnt, for people.
#include "experiments/calibrate.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

std::string text_of(const Value& value)
{
  return !value                     ? ""
         : value.json().is_string() ? value.json().get<std::string>()
                                    : value.json().dump();
}

std::string block(const char* title, const std::vector<std::string>& lines)
{
  if (lines.empty())
    return "";
  std::string text = fmt::format("\n{}\n", title);
  for (const std::string& line : lines)
    text += "  " + line + "\n";
  return text;
}

// One line for all parameters that are unknown for the same reason.
std::vector<std::string> refusals(const calibration::Profile& profile)
{
  std::vector<std::pair<std::string, std::string>> groups; // reason, parameters
  for (const auto& r : profile.refused) {
    const std::string reason =
        r.reason + (r.measurement.empty() ? "" : "; would tell: " + r.measurement);
    const auto known = std::find_if(groups.begin(), groups.end(),
                                    [&](const auto& group) { return group.first == reason; });
    if (known == groups.end())
      groups.emplace_back(reason, r.parameter);
    else
      known->second += ", " + r.parameter;
  }
  std::vector<std::string> lines;
  for (const auto& [reason, parameters] : groups)
    lines.push_back(fmt::format("{}: {}", parameters, reason));
  return lines;
}

} // namespace

std::string calibration_text(const Calibration& calibration)
{
  const calibration::Profile& profile = calibration.profile;
  std::string text;
  for (const auto& log : profile.logs)
    text += fmt::format("{} ({})\n", log.file, log.kind);
  std::vector<std::string> lines;
  for (const auto& p : profile.parameters) {
    lines.push_back(fmt::format("{:<58} {:>14} +- {}", p.kind + " " + p.preset + " " + p.pointer,
                                text_of(p.value), text_of(p.spread)));
    const std::string fitted = fmt::format(
        "  {} measurements ({}), followed within {:.1f} % on average, {:.1f} % at most",
        p.residuals->measurements, p.source, 100 * p.residuals->mean, 100 * p.residuals->maximum);
    if (&p == &profile.parameters.back() || (&p + 1)->source != p.source)
      lines.push_back(fitted);
  }
  text += block("Learnt", lines);
  if (lines.empty())
    text += "\nNothing was learnt.\n";
  text += block("Not learnt", refusals(profile));
  lines.clear();
  for (const auto& o : profile.outliers)
    lines.push_back(o.where + ": " + o.what);
  text += block("Outliers, used with little weight", lines);
  return text;
}

} // namespace foretrain::experiments
