#include "experiments/report/report_certainty.hpp"

#include "experiments/report/report_html_answer.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

constexpr std::size_t kLargestParts = 3;
constexpr double kPart = 0.001; // of throughput: below, a parameter is not worth a word
constexpr double kSure = 0.999; // beyond, that one point is faster goes without saying

// "efficiency of dense kernels (13 % uncertain, moves it by 11 %)"
std::string parts_text(const Json& parts)
{
  std::string text;
  for (std::size_t i = 0; i < std::min(parts.size(), kLargestParts); ++i) {
    const double effect = std::abs(parts[i].at("effect").get<double>());
    if (effect < kPart)
      break;
    text += fmt::format("{}{} ({:.0f} % uncertain, moves it by {:.1f} %)", i == 0 ? "" : ", ",
                        parts[i].at("parameter").get<std::string>(),
                        100 * parts[i].at("spread").get<double>(), 100 * effect);
  }
  return text;
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
    if (answer.best == nullptr || !answer.best->job->contains("uncertainty"))
      continue;
    const Json& uncertainty = answer.best->job->at("uncertainty");
    const std::string parts = parts_text(uncertainty.at("contributions"));
    if (parts.empty())
      continue;
    const std::string label = report.label(*answer.best);
    sentences.push_back(fmt::format("{}the interval comes mostly from: {}",
                                    label.empty() ? "" : label + ": ", parts));
  }
  if (!report.result().contains("comparisons"))
    return sentences;
  std::string told; // job whose nearest rival has been named
  for (const Json& it : report.result().at("comparisons")) {
    const auto job = it.at("job").get<std::string>();
    const auto probability = it.at("probability").get<double>();
    if (job == told || probability > kSure)
      continue;
    told = job;
    if (probability <= kClear) // the answer names the rival, with this
      continue;
    sentences.push_back(fmt::format("{} is faster than {} with a probability of {}",
                                    report.points_text({it.at("point").get<std::size_t>()}),
                                    report.points_text({it.at("than").get<std::size_t>()}),
                                    probability_text(probability)));
  }
  return sentences;
}

} // namespace foretrain::experiments
