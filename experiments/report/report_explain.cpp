#include "experiments/report/report_explain.hpp"

#include "experiments/report/report_html_parts.hpp"
#include "experiments/report/report_html_rows.hpp"
#include "experiments/report/svg.hpp"
#include "experiments/report/svg_bars.hpp"
#include "experiments/report/svg_text.hpp"
#include "experiments/report/text_table.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

constexpr double kWorthALine = 0.005; // gain of a lever
constexpr std::size_t kSwapsTold = 12;

double value_at(const Json& json, const char* pointer)
{
  return number_at(json, pointer).value_or(0);
}

std::string part_title(std::string key)
{
  std::replace(key.begin(), key.end(), '_', ' ');
  return key;
}

std::string limits_text(const Json& part)
{
  std::vector<std::string> words;
  for (const Json& limit : part.at("limited_by"))
    words.push_back(
        fmt::format("{} {:.0f} %", text_at(limit, "/name"), 100 * value_at(limit, "/share")));
  return joined(words);
}

// What brings nothing when doubled, as one sentence.
std::string nothing_text(const Json& job)
{
  std::vector<std::string> names;
  for (const Json& lever : job.at("levers"))
    if (value_at(lever, "/gain_if_doubled") < kWorthALine)
      names.push_back(text_at(lever, "/name"));
  return names.empty() ? "" : "Would bring nothing: " + joined(names) + ".";
}

std::string headline(const Json& job)
{
  if (!job.contains("limited_by") || job.at("limited_by").is_null())
    return "No single change brings anything.";
  std::string text = fmt::format(
      "Limited by {}: {} would bring {}", text_at(job, "/limited_by/name"),
      text_at(job, "/limited_by/doubled"), gain_text(value_at(job, "/limited_by/gain_if_doubled")));
  if (job.contains("ties"))
    for (const Json& tie : job.at("ties"))
      text += "; " + tie.get<std::string>() + " as much";
  return text + ".";
}

std::string swap_text(const Json& swap)
{
  const Json& from = swap.at("from");
  return fmt::format("{} {} instead of {}", text_at(swap, "/pointer"), text_at(swap, "/to"),
                     from.is_null() ? "the default" : clipped(value_text(from), 30));
}

std::string where_text(const Json& answer)
{
  std::vector<std::string> settings;
  for (const auto& setting : answer.at("settings").items())
    settings.push_back(setting.key() + " " + clipped(value_text(setting.value()), 40));
  return text_at(answer, "/experiment") +
         (settings.empty()
              ? ""
              : fmt::format(", point {} of {} ({})", answer.at("point").get<std::size_t>(),
                            answer.at("points").get<std::size_t>(), joined(settings)));
}

std::string speed_text(const Json& job)
{
  std::string text =
      fmt::format("{}: {} samples/s on {:.0f} GPUs, {} ms a step", text_at(job, "/name"),
                  number_text(value_at(job, "/throughput_samples_per_s")), value_at(job, "/gpus"),
                  number_text(1e3 * value_at(job, "/step_time_s")));
  if (const auto later = number_at(job, "/later_epochs_samples_per_s"))
    text +=
        fmt::format("; of the first epoch, whose caches are cold: later ones run at {} samples/s",
                    number_text(*later));
  if (job.value("fits", Json(true)) == false)
    text += "; it does not fit in device memory";
  return text;
}

std::string path_text(const Json& job)
{
  TextTable table{{"the step waits for", "ms", "%", "limited by", ""}, {}, 1};
  for (const Json& part : job.at("critical_path"))
    table.lines.push_back({part_title(text_at(part, "/part")),
                           number_text(1e3 * value_at(part, "/time_s")),
                           fmt::format("{:.1f}", 100 * value_at(part, "/share")),
                           clipped(limits_text(part), 64), ""});
  return table_text(table);
}

std::string levers_text(const Json& job)
{
  TextTable table{{"what would help", "10 % better", "doubled", "", ""}, {}, 1};
  for (const Json& lever : job.at("levers"))
    if (value_at(lever, "/gain_if_doubled") >= kWorthALine)
      table.lines.push_back({text_at(lever, "/doubled"),
                             gain_text(value_at(lever, "/gain_if_10_percent_better")),
                             gain_text(value_at(lever, "/gain_if_doubled")), "", ""});
  return table.lines.empty() ? "" : table_text(table);
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

std::string report_explain(const Json& answer, const TableStyle& style)
{
  std::string text = clipped(where_text(answer), 500) + "\n";
  for (const Json& job : answer.at("jobs")) {
    text += "\n" + speed_text(job) + "\n" + headline(job) + "\n\n" + path_text(job);
    text += item_text(text_at(job, "/waits_for/why"), style.columns);
    if (const std::string levers = levers_text(job); !levers.empty())
      text += "\n" + levers;
    if (const std::string nothing = nothing_text(job); !nothing.empty())
      text += item_text(nothing, style.columns);
    if (!job.at("swaps").empty())
      text += "\nOther choices of software and storage\n";
    const Json& swaps = job.at("swaps");
    for (std::size_t i = 0; i < std::min(kSwapsTold, swaps.size()); ++i)
      text += item_text(swap_text(swaps[i]) + ": " + gain_text(value_at(swaps[i], "/gain")),
                        style.columns);
    if (swaps.size() > kSwapsTold)
      text += item_text(fmt::format("and {} more that bring less, or cost (--format json)",
                                    swaps.size() - kSwapsTold),
                        style.columns);
  }
  return text;
}

std::string explain_html(const Json& answer)
{
  std::string body;
  int number = 0;
  for (const Json& job : answer.at("jobs")) {
    std::vector<std::pair<std::string, double>> parts;
    for (const Json& part : job.at("critical_path")) {
      const std::string limits = limits_text(part);
      parts.emplace_back(part_title(text_at(part, "/part")) +
                             (limits.empty() ? "" : " (" + limits + ")"),
                         value_at(part, "/share"));
    }
    std::vector<std::pair<std::string, double>> gains;
    for (const Json& lever : job.at("levers"))
      if (value_at(lever, "/gain_if_doubled") >= kWorthALine)
        gains.emplace_back(text_at(lever, "/doubled"), value_at(lever, "/gain_if_doubled"));
    std::vector<std::pair<std::string, double>> swaps;
    for (const Json& swap : job.at("swaps"))
      if (swaps.size() < kSwapsTold)
        swaps.emplace_back(swap_text(swap), value_at(swap, "/gain"));
    const std::string name = text_at(job, "/name");
    body += section(fmt::format("job-{}", ++number), name,
                    "<p>" + prose(speed_text(job) + ". " + headline(job)) + "</p>" +
                        "<h3>Where a step goes</h3>" + bar_list(parts, BarValue::share) +
                        "<h3>What would help</h3>" + bar_list(gains, BarValue::gain) + "<p>" +
                        prose(nothing_text(job)) + "</p>" +
                        (swaps.empty() ? ""
                                       : "<h3>Other choices of software and storage</h3>" +
                                             bar_list(swaps, BarValue::gain)));
  }
  const std::string title = "Why " + text_at(answer, "/experiment") + " is as fast as it is";
  return page(title, "<p>" + prose(where_text(answer)) + "</p>", body,
              "foretrain " + escaped(text_at(answer, "/version")));
}

} // namespace foretrain::experiments
