#include "experiments/report/report_certainty.hpp"

#include "experiments/report/report_html_answer.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

constexpr std::size_t kLargestParts = 3;
constexpr double kPart = 0.001; // of throughput: below, a parameter is not worth a word
constexpr double kSure = 0.999; // beyond, that one point is faster goes without saying

// "efficiency of dense kernels (13 % uncertain, moves it by 11 %)"
std::vector<std::string> causes_of(const Uncertainty& uncertainty)
{
  std::vector<std::string> causes;
  if (const auto& guest = uncertainty.guest)
    causes.push_back(fmt::format("which guest it is ({}, {:+.0f} to {:+.0f} %)", guest->host,
                                 100 * std::expm1(-guest->slower),
                                 100 * std::expm1(guest->faster)));
  const auto& parts = uncertainty.parts;
  for (std::size_t i = 0; i < std::min(parts.size(), kLargestParts); ++i) {
    const double effect = std::abs(parts[i].effect);
    if (effect < kPart)
      break;
    causes.push_back(fmt::format("{} ({:.0f} % uncertain, moves it by {:.1f} %)",
                                 parts[i].parameter, 100 * parts[i].spread, 100 * effect));
  }
  return causes;
}

std::string probability_text(double probability)
{
  return probability > 0.995 ? "over 99 %" : fmt::format("{:.0f} %", 100 * probability);
}

} // namespace

std::vector<std::string> certainty(const Report& report)
{
  std::vector<std::string> sentences;
  for (const Answer& answer : answers(report)) {
    const auto causes = causes_of(*answer.best->job->uncertainty);
    if (causes.empty())
      continue;
    const std::string label = report.label(*answer.best);
    sentences.push_back(fmt::format("{}the interval comes mostly from: {}",
                                    label.empty() ? "" : label + ": ", joined(causes)));
  }
  std::string told; // job whose nearest rival has been named
  for (const PointComparison& it : report.result().comparisons) {
    if (it.job == told || it.probability > kSure)
      continue;
    told = it.job;
    if (it.probability <= kClear) // the answer names the rival, with this
      continue;
    sentences.push_back(fmt::format("{} is faster than {} with a probability of {}",
                                    report.points_text({static_cast<std::size_t>(it.point)}),
                                    report.points_text({static_cast<std::size_t>(it.than)}),
                                    probability_text(it.probability)));
  }
  return sentences;
}

} // namespace foretrain::experiments
