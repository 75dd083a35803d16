// What a calibration learnt, for people.
#include "experiments/learn/calibrate.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

constexpr std::size_t kOutliersTold = 20;

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

// How well the fit follows what was measured; a fit that meets as many measurements as it has
// parameters says nothing about that.
std::string followed(const calibration::Profile& profile, const calibration::ProfileParameter& last)
{
  const auto together =
      std::count_if(profile.parameters.begin(), profile.parameters.end(),
                    [&](const auto& other) { return other.source == last.source; });
  const auto& left = *last.residuals;
  if (left.measurements <= together)
    return fmt::format("  {} measurement{} ({}) for {} parameter{}: none is left to check the fit",
                       left.measurements, left.measurements == 1 ? "" : "s", last.source, together,
                       together == 1 ? "" : "s");
  return fmt::format(
      "  {} measurements ({}), followed within {:.1f} % on average, {:.1f} % at most",
      left.measurements, last.source, 100 * left.mean, 100 * left.maximum);
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
    if (&p == &profile.parameters.back() || (&p + 1)->source != p.source)
      lines.push_back(followed(profile, p));
  }
  text += block("Learnt", lines);
  if (lines.empty())
    text += "\nNothing was learnt.\n";
  lines.clear();
  for (const FitCheck& check : calibration.checks)
    lines.push_back(
        fmt::format("{}: presets {:.1f} %, profile {:.1f} % off, mean of {} measurements{}",
                    check.source, 100 * check.presets, 100 * check.profile, check.measurements,
                    check.held_back ? " that were held back" : ""));
  text += block("Compared with the presets", lines);
  text += block("Not learnt", refusals(profile));
  lines.clear();
  for (std::size_t i = 0; i < std::min(kOutliersTold, profile.outliers.size()); ++i)
    lines.push_back(profile.outliers[i].where + ": " + profile.outliers[i].what);
  if (profile.outliers.size() > kOutliersTold)
    lines.push_back(fmt::format("and {} more: \"outliers\" of the profile has all",
                                profile.outliers.size() - kOutliersTold));
  text += block("Outliers, used with little weight", lines);
  return text;
}

} // namespace foretrain::experiments
