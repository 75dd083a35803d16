#include "experiments/report/report_explain.hpp"

#include "experiments/report/report_html_parts.hpp"
#include "experiments/report/svg.hpp"
#include "experiments/report/svg_bars.hpp"
#include "experiments/report/svg_text.hpp"
#include "experiments/report/text_table.hpp"
#include "sim/base/json_text.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

constexpr double kWorthALine = 0.005; // gain of a lever
constexpr std::size_t kSwapsTold = 12;
constexpr std::size_t kSetsTold = 3;

std::string part_title(std::string key)
{
  std::replace(key.begin(), key.end(), '_', ' ');
  return key;
}

std::string limits_text(const PathPart& part)
{
  std::vector<std::string> words;
  for (const PathLimit& limit : part.limited_by)
    words.push_back(fmt::format("{} {:.0f} %", limit.name, 100 * limit.share));
  return joined(words);
}

// Where calls leave by a clock a little better may bring more than twice as good.
bool helps(const LeverGain& lever)
{
  return std::max(lever.slightly, lever.twice) >= kWorthALine && lever.twice > -kWorthALine;
}

// What brings nothing when doubled, and what costs.
std::string nothing_text(const ExplainedJob& job)
{
  std::vector<std::string> nothing, slower;
  for (const LeverGain& lever : job.levers)
    if (lever.twice <= -kWorthALine)
      slower.push_back(fmt::format("{} ({})", lever.doubled, gain_text(lever.twice)));
    else if (!helps(lever))
      nothing.push_back(lever.name);
  std::string text = nothing.empty() ? "" : "Would bring nothing alone: " + joined(nothing) + ".";
  if (!slower.empty())
    text += (text.empty() ? "" : " ") + ("Would cost: " + joined(slower) + ".");
  return text;
}

std::string headline(const ExplainedJob& job)
{
  if (!job.limited_by)
    return "No single change brings anything.";
  std::string text = fmt::format("Limited by {}: {} would bring {}", job.limited_by->name,
                                 job.limited_by->doubled, gain_text(job.limited_by->twice));
  for (const std::string& tie : job.ties)
    text += "; " + tie + " as much";
  return text + ".";
}

// What helps only, or far more, together.
std::string together_text(const ExplainedJob& job)
{
  std::vector<std::string> told;
  for (std::size_t i = 0; i < std::min(kSetsTold, job.together.size()); ++i)
    told.push_back(
        fmt::format("{} ({})", job.together[i].doubled, gain_text(job.together[i].twice)));
  return told.empty() ? "" : "More together than one by one: " + joined(told, "; ") + ".";
}

std::string swap_text(const SwapGain& swap)
{
  return fmt::format("{} {} instead of {}", swap.pointer, value_text(swap.to),
                     swap.from.is_null() ? "the default" : clipped(value_text(swap.from), 30));
}

std::string where_text(const Explanation& answer)
{
  std::vector<std::string> settings;
  for (const auto& [pointer, value] : answer.settings)
    settings.push_back(pointer + " " + clipped(value_text(value), 40));
  return answer.experiment + (settings.empty()
                                  ? ""
                                  : fmt::format(", point {} of 0 to {} ({})", answer.point,
                                                answer.points - 1, joined(settings)));
}

std::string speed_text(const ExplainedJob& job)
{
  std::string text = fmt::format("{}: {} samples/s on {} GPUs, {} ms a step", job.path.name,
                                 number_text(job.throughput), job.path.gpus,
                                 number_text(1e3 * job.path.step.value()));
  if (job.later_epochs)
    text +=
        fmt::format("; of the first epoch, whose caches are cold: later ones run at {} samples/s",
                    number_text(*job.later_epochs));
  if (!job.fits)
    text += "; it does not fit in device memory";
  return text;
}

std::string path_text(const ExplainedJob& job)
{
  TextTable table{{"the step waits for", "ms", "%", "limited by", ""}, {}, 1};
  for (const PathPart& part : job.path.parts)
    table.lines.push_back({part_title(part.part), number_text(1e3 * part.time.value()),
                           fmt::format("{:.1f}", 100 * part.share), clipped(limits_text(part), 64),
                           ""});
  return table_text(table);
}

std::string levers_text(const ExplainedJob& job)
{
  TextTable table{{"what would help", "10 % better", "doubled", "", ""}, {}, 1};
  for (const LeverGain& lever : job.levers)
    if (helps(lever))
      table.lines.push_back(
          {lever.doubled, gain_text(lever.slightly), gain_text(lever.twice), "", ""});
  return table.lines.empty() ? "" : table_text(table);
}

std::string advice_html(const std::string& text)
{
  return text.empty() ? "" : "<p>" + prose(text) + "</p>";
}

enum class BarValue { share, gain };

std::string bar_list(const std::vector<std::pair<std::string, double>>& bars, BarValue kind)
{
  double longest = 1e-12;
  for (const auto& [name, value] : bars)
    longest = std::max(longest, std::abs(value));
  std::string html;
  for (const auto& [name, value] : bars)
    html +=
        bar_row(name, value_bar({std::abs(value) / longest, 0, 0, 0, value < 0 ? 1U : 0U}, name),
                kind == BarValue::share ? percent_text(value) : gain_text(value));
  return html;
}

} // namespace

std::string gain_text(double gain)
{
  return std::abs(gain) < 0.0005 ? "nothing" : change_text(gain);
}

std::string report_explain(const Explanation& answer, const TableStyle& style)
{
  std::string text = clipped(where_text(answer), 500) + "\n";
  for (const ExplainedJob& job : answer.jobs) {
    text += "\n" + speed_text(job) + "\n" + headline(job) + "\n\n" + path_text(job);
    text += item_text(job.waits_for.why, style.columns);
    if (const std::string levers = levers_text(job); !levers.empty())
      text += "\n" + levers;
    if (const std::string nothing = nothing_text(job); !nothing.empty())
      text += item_text(nothing, style.columns);
    if (const std::string together = together_text(job); !together.empty())
      text += item_text(together, style.columns);
    const auto& swaps = job.swaps;
    if (!swaps.empty())
      text += "\nOther choices of software and storage\n";
    for (std::size_t i = 0; i < std::min(kSwapsTold, swaps.size()); ++i)
      text += item_text(swap_text(swaps[i]) + ": " + gain_text(swaps[i].gain), style.columns);
    if (swaps.size() > kSwapsTold)
      text += item_text(fmt::format("and {} more that bring less, or cost (--format json)",
                                    swaps.size() - kSwapsTold),
                        style.columns);
  }
  if (!answer.warnings.empty())
    text += "\nWarnings\n";
  for (const std::string& warning : answer.warnings)
    text += item_text(warning, style.columns);
  return text;
}

std::string explain_html(const Explanation& answer)
{
  std::string body;
  int number = 0;
  for (const ExplainedJob& job : answer.jobs) {
    std::vector<std::pair<std::string, double>> parts;
    for (const PathPart& part : job.path.parts) {
      const std::string limits = limits_text(part);
      parts.emplace_back(part_title(part.part) + (limits.empty() ? "" : " (" + limits + ")"),
                         part.share);
    }
    std::vector<std::pair<std::string, double>> gains;
    for (const LeverGain& lever : job.levers)
      if (helps(lever))
        gains.emplace_back(lever.doubled, lever.twice);
    std::vector<std::pair<std::string, double>> swaps;
    for (const SwapGain& swap : job.swaps)
      if (swaps.size() < kSwapsTold)
        swaps.emplace_back(swap_text(swap), swap.gain);
    body += section(fmt::format("job-{}", ++number), job.path.name,
                    "<p>" + prose(speed_text(job) + ". " + headline(job)) + "</p>" +
                        "<h3>Where a step goes</h3>" + bar_list(parts, BarValue::share) +
                        "<h3>What would help</h3>" + bar_list(gains, BarValue::gain) +
                        advice_html(nothing_text(job)) + advice_html(together_text(job)) +
                        (swaps.empty() ? ""
                                       : "<h3>Other choices of software and storage</h3>" +
                                             bar_list(swaps, BarValue::gain)));
  }
  if (!answer.warnings.empty()) {
    std::string items;
    for (const std::string& warning : answer.warnings)
      items += "<li>" + prose(warning) + "</li>";
    body += section("warnings", "Warnings", "<ul>" + items + "</ul>");
  }
  const std::string title = "Why " + answer.experiment + " is as fast as it is";
  return page(title, "<p>" + prose(where_text(answer)) + "</p>", body,
              "foretrain " + escaped(answer.version));
}

} // namespace foretrain::experiments
