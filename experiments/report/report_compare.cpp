#include "experiments/report/report_compare.hpp"

#include "experiments/report/report_csv.hpp"
#include "experiments/report/report_html_rows.hpp"
#include "experiments/report/svg_text.hpp"
#include "experiments/report/text_table.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

constexpr std::size_t kComparisonWidth = 30;
constexpr std::size_t kPairsInFull = 1; // more of them get a line each
constexpr std::size_t kCauses = 3;

std::string words_of(std::string key)
{
  std::replace(key.begin(), key.end(), '_', ' ');
  return key;
}

std::string signed_number(double value)
{
  const std::string size = number_text(std::abs(value));
  return (value < 0 && size != "0" ? "-" : "+") + size;
}

std::string signed_ms(double seconds)
{
  return signed_number(1e3 * seconds) + " ms";
}

double number(const Json& json, const char* pointer)
{
  return number_at(json, pointer).value_or(0);
}

std::string or_default(const Json& value)
{
  return value.is_null() ? "(default)" : clipped(value_text(value), 60);
}

std::string resource_change(const Json& pair)
{
  const std::string before = limited_by(pair.at("a"));
  const std::string after = limited_by(pair.at("b"));
  if (before.empty() && after.empty())
    return "";
  return before == after ? "both limited by " + before
                         : "limited by " + before + " in A, " + after + " in B";
}

class CompareText {
public:
  CompareText(const Json& answer, const TableStyle& style)
      : answer_(answer), style_(style), telling_(telling())
  {
  }

  std::string text() const
  {
    std::string text = "A: " + name("a") + "\nB: " + name("b") + "\n";
    text += differs();
    const Json& pairs = answer_.at("pairs");
    text += "\n" + table_text(pairs_table());
    if (pairs.size() <= kPairsInFull)
      for (const Json& pair : pairs)
        text += "\n" + table_text(parts_table(pair));
    text += list("Why", causes());
    text += list("Each setting alone, the others as in A", alone());
    text += list("Bounds", bounds());
    text += list("Warnings", warnings());
    return text;
  }

private:
  std::string name(const char* side) const
  {
    const auto points = answer_.at(side).at("points").get<std::size_t>();
    return clipped(text_at(answer_.at(side), "/name"), 200) +
           (points > 1 ? fmt::format(" ({} points)", points) : "");
  }

  // What all pairs differ in, in one place.
  std::string differs() const
  {
    const Json& first = answer_.at("pairs")[0].at("differs");
    if (first.empty())
      return "no settings differ\n";
    std::string text = "they differ in\n";
    for (const Json& it : first)
      text += item_text(text_at(it, "/pointer") + ": " + or_default(it.at("a")) + " -> " +
                            or_default(it.at("b")),
                        style_.columns);
    return text;
  }

  std::string table_text(const TextTable& table) const
  {
    std::string text;
    for (const std::string& line : lines_of(table))
      text += (text.empty() && style_.colour ? "\x1b[1m" + line + "\x1b[0m" : line) + "\n";
    return text;
  }

  std::string list(const std::string& title, const std::vector<std::string>& items) const
  {
    if (items.empty())
      return "";
    std::string text = "\n" + (style_.colour ? "\x1b[1m" + title + "\x1b[0m" : title) + "\n";
    for (const std::string& item : items)
      text += item_text(item, style_.columns);
    return text;
  }

  // Settings that tell pairs apart: they vary, and none before fixes them.
  std::vector<std::string> telling() const
  {
    const Json& pairs = answer_.at("pairs");
    std::vector<std::string> kept;
    for (const auto& setting : pairs[0].at("settings").items()) {
      const auto fixes = [&](const std::string& leader) {
        std::map<std::string, std::set<std::string>> values;
        for (const Json& pair : pairs)
          values[leader.empty() ? "" : pair.at("settings").value(leader, Json()).dump()].insert(
              pair.at("settings").value(setting.key(), Json()).dump());
        return std::all_of(values.begin(), values.end(),
                           [](const auto& it) { return it.second.size() == 1; });
      };
      if (!fixes("") && std::none_of(kept.begin(), kept.end(), fixes))
        kept.push_back(setting.key());
    }
    return kept;
  }

  std::string pair_name(const Json& pair) const
  {
    std::string job = text_at(pair, "/job");
    if (pair.contains("job_b"))
      job += " / " + text_at(pair, "/job_b");
    std::vector<std::string> words{clipped(job, kComparisonWidth)};
    for (const std::string& pointer : telling_)
      words.push_back(
          pointer.substr(pointer.rfind('/') + 1) + " " +
          clipped(value_text(pair.at("settings").value(pointer, Json())), kComparisonWidth));
    return joined(words);
  }

  TextTable pairs_table() const
  {
    TextTable table;
    table.header = {"job", "A samples/s", "B samples/s", "B / A"};
    table.texts = 1;
    const Json& pairs = answer_.at("pairs");
    table.header.push_back(fmt::format("{:.0f} % int.", 100 * number(pairs[0], "/ratio/interval")));
    table.header.emplace_back("A step ms");
    table.header.emplace_back("B step ms");
    table.header.emplace_back("B faster with");
    table.header.emplace_back("limited by");
    for (const Json& pair : pairs) {
      const std::string before = limited_by(pair.at("a"));
      const std::string after = limited_by(pair.at("b"));
      table.lines.push_back(
          {pair_name(pair), number_text(number(pair, "/a/throughput_samples_per_s")),
           number_text(number(pair, "/b/throughput_samples_per_s")),
           fmt::format("{:.3f}", number(pair, "/ratio/median")),
           fmt::format("{:.3f}-{:.3f}", number(pair, "/ratio/low"), number(pair, "/ratio/high")),
           number_text(1e3 * number(pair, "/a/step_time_s")),
           number_text(1e3 * number(pair, "/b/step_time_s")),
           percent_text(number(pair, "/probability_b_faster")),
           clipped(before == after ? before : fmt::format("{} -> {}", before, after), 60)});
    }
    return table;
  }

  static TextTable parts_table(const Json& pair)
  {
    TextTable table;
    table.header = {"part of the step", "A ms", "B ms", "difference ms", "", ""};
    table.texts = 1;
    for (const auto& part : pair.at("a").at("time_s").items()) {
      const double before = 1e3 * part.value().get<double>();
      const std::string at = "/b/time_s/" + part.key();
      const double after = 1e3 * number(pair, at.c_str());
      table.lines.push_back({words_of(part.key()), number_text(before), number_text(after),
                             signed_number(after - before), "", ""});
    }
    return table;
  }

  std::vector<std::string> causes() const
  {
    std::vector<std::string> items;
    const Json& pairs = answer_.at("pairs");
    for (const Json& pair : pairs) {
      const Json& causes = pair.at("causes");
      std::vector<std::string> words;
      for (std::size_t i = 0; i < std::min(kCauses, causes.size()); ++i)
        words.push_back(words_of(text_at(causes[i], "/part")) + " " +
                        signed_ms(number(causes[i], "/difference_s")));
      if (words.empty())
        continue;
      const std::string text = (pairs.size() > 1 ? pair_name(pair) + ": " : "") + joined(words);
      items.push_back(text + "; " + resource_change(pair));
    }
    if (items.empty())
      items.emplace_back("no part of the step differs");
    return items;
  }

  std::vector<std::string> alone() const
  {
    std::vector<std::string> items;
    const Json& pairs = answer_.at("pairs");
    for (const Json& pair : pairs)
      for (const Json& it : list_at(pair, "settings_alone"))
        items.push_back((pairs.size() > 1 ? pair_name(pair) + ": " : "") + text_at(it, "/pointer") +
                        " " + or_default(it.at("b")) + ": " +
                        change_text(number(it, "/ratio") - 1));
    return items;
  }

  std::vector<std::string> bounds() const
  {
    std::vector<std::string> items;
    std::size_t holds = 0;
    for (const Json& pair : answer_.at("pairs"))
      for (const Json& it : pair.at("bounds")) {
        const std::string state = text_at(it, "/state");
        holds += state == "holds" ? 1U : 0U;
        if (state != "holds")
          items.push_back(
              fmt::format("{}: B / A is {} {:g} with {}: {}", pair_name(pair), text_at(it, "/side"),
                          number(it, "/ratio"), percent_text(number(it, "/probability_broken")),
                          state == "broken" ? "the bound is broken" : "too close to tell"));
      }
    if (holds > 0)
      items.push_back(fmt::format("{} of {} bounds hold with {}", holds, holds + items.size(),
                                  percent_text(number(answer_, "/confidence"))));
    return items;
  }

  std::vector<std::string> warnings() const
  {
    std::vector<std::string> items;
    for (const char* side : {"a", "b"})
      if (const double left = number(answer_.at("unmatched"), (std::string("/") + side).c_str());
          left > 0)
        items.push_back(fmt::format("{:.0f} points of {} have no counterpart", left,
                                    std::string(side) == "a" ? "A" : "B"));
    for (const Json& warning : list_at(answer_, "warnings"))
      items.push_back(warning.get<std::string>());
    return items;
  }

  const Json& answer_;
  const TableStyle& style_;
  std::vector<std::string> telling_;
};

} // namespace

std::string report_compare(const Json& answer, const TableStyle& style)
{
  return CompareText(answer, style).text();
}

std::string compare_csv(const Json& answer)
{
  std::set<std::string> settings;
  std::set<std::string> parts;
  for (const Json& pair : answer.at("pairs")) {
    for (const auto& it : pair.at("settings").items())
      settings.insert(it.key());
    for (const char* side : {"a", "b"})
      for (const auto& it : pair.at(side).at("time_s").items())
        parts.insert(it.key());
  }
  constexpr std::pair<const char*, const char*> kNumbers[] = {
      {"a_throughput_samples_per_s", "/a/throughput_samples_per_s"},
      {"b_throughput_samples_per_s", "/b/throughput_samples_per_s"},
      {"ratio", "/ratio/median"},
      {"ratio_low", "/ratio/low"},
      {"ratio_high", "/ratio/high"},
      {"interval_fraction", "/ratio/interval"},
      {"probability_b_faster", "/probability_b_faster"},
      {"a_step_time_s", "/a/step_time_s"},
      {"b_step_time_s", "/b/step_time_s"}};
  std::vector<std::string> header(settings.begin(), settings.end());
  header.emplace_back("job");
  for (const auto& [name, pointer] : kNumbers)
    header.emplace_back(name);
  for (const char* side : {"a", "b"})
    for (const std::string& part : parts)
      header.push_back(std::string(side) + "_time_" + part + "_s");
  header.insert(header.end(), {"a_bottleneck", "b_bottleneck"});
  std::string text = csv_line(header);
  for (const Json& pair : answer.at("pairs")) {
    std::vector<std::string> fields;
    for (const std::string& pointer : settings)
      fields.push_back(
          pair.at("settings").contains(pointer) ? value_text(pair.at("settings").at(pointer)) : "");
    fields.push_back(text_at(pair, "/job"));
    for (const auto& [name, pointer] : kNumbers)
      fields.push_back(fmt::format("{}", number(pair, pointer)));
    for (const char* side : {"a", "b"})
      for (const std::string& part : parts)
        fields.push_back(
            fmt::format("{}", number(pair, fmt::format("/{}/time_s/{}", side, part).c_str())));
    fields.push_back(text_at(pair, "/a/bottleneck/resource"));
    fields.push_back(text_at(pair, "/b/bottleneck/resource"));
    text += csv_line(fields);
  }
  return text;
}

} // namespace foretrain::experiments
