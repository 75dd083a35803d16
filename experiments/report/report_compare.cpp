#include "experiments/report/report_compare.hpp"

#include "experiments/report/report_csv.hpp"
#include "experiments/report/svg_text.hpp"
#include "experiments/report/text_table.hpp"
#include "sim/base/json_text.hpp"
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

std::string or_default(const Json& value)
{
  return value.is_null() ? "(default)" : clipped(value_text(value), 60);
}

std::string resource_change(const JobComparison& pair)
{
  const std::string& before = pair.a.job.bottleneck.label();
  const std::string& after = pair.b.job.bottleneck.label();
  if (before.empty() && after.empty())
    return "";
  return before == after ? "both limited by " + before
                         : "limited by " + before + " in A, " + after + " in B";
}

class CompareText {
public:
  CompareText(const CompareAnswer& answer, const TableStyle& style)
      : answer_(answer), style_(style), telling_(telling())
  {
  }

  std::string text() const
  {
    std::string text = "A: " + name(answer_.a) + "\nB: " + name(answer_.b) + "\n";
    text += differs();
    text += "\n" + table_text(pairs_table());
    if (answer_.pairs.size() <= kPairsInFull)
      for (const JobComparison& pair : answer_.pairs)
        text += "\n" + table_text(parts_table(pair));
    text += list("The training", trainings());
    text += list("Why", causes());
    text += list("Each setting alone, the others as in A", alone());
    text += list("Bounds", bounds());
    text += list("Warnings", warnings());
    return text;
  }

private:
  static std::string name(const SideSize& side)
  {
    return clipped(side.name, 200) +
           (side.points > 1 ? fmt::format(" ({} points)", side.points) : "");
  }

  // What all pairs differ in, in one place.
  std::string differs() const
  {
    const auto& first = answer_.pairs.front().differs;
    if (first.empty())
      return "no settings differ\n";
    std::string text = "they differ in\n";
    for (const SettingDifference& it : first)
      text += item_text(it.pointer + ": " + or_default(it.a) + " -> " + or_default(it.b),
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
    const auto& pairs = answer_.pairs;
    std::vector<std::string> kept;
    for (const auto& setting : pairs.front().settings.items()) {
      const auto fixes = [&](const std::string& leader) {
        std::map<std::string, std::set<std::string>> values;
        for (const JobComparison& pair : pairs)
          values[leader.empty() ? "" : pair.settings.value(leader, Json()).dump()].insert(
              pair.settings.value(setting.key(), Json()).dump());
        return std::all_of(values.begin(), values.end(),
                           [](const auto& it) { return it.second.size() == 1; });
      };
      if (!fixes("") && std::none_of(kept.begin(), kept.end(), fixes))
        kept.push_back(setting.key());
    }
    return kept;
  }

  std::string pair_name(const JobComparison& pair) const
  {
    const std::string job = pair.job + (pair.job_b.empty() ? "" : " / " + pair.job_b);
    std::vector<std::string> words{clipped(job, kComparisonWidth)};
    for (const std::string& pointer : telling_)
      words.push_back(pointer.substr(pointer.rfind('/') + 1) + " " +
                      clipped(value_text(pair.settings.value(pointer, Json())), kComparisonWidth));
    return joined(words);
  }

  // What tells the pair apart, where there are several.
  std::string leading_name(const JobComparison& pair) const
  {
    return answer_.pairs.size() > 1 ? pair_name(pair) + ": " : "";
  }

  TextTable pairs_table() const
  {
    TextTable table;
    const bool tokens =
        std::all_of(answer_.pairs.begin(), answer_.pairs.end(),
                    [](const JobComparison& pair) { return pair.counted_in == CountedIn::tokens; });
    const auto rate = [&](const JobComparison& pair, const JobResult& side) {
      return number_text(tokens ? pair.rate(side) : side.throughput.median, tokens);
    };
    table.header = tokens ? std::vector<std::string>{"job", "A tokens/s", "B tokens/s", "B / A"}
                          : std::vector<std::string>{"job", "A samples/s", "B samples/s", "B / A"};
    table.texts = 1;
    table.header.push_back(
        fmt::format("{:.0f} % int.", 100 * answer_.pairs.front().ratio.interval));
    for (const char* name : {"A step ms", "B step ms", "B faster with", "limited by"})
      table.header.emplace_back(name);
    for (const JobComparison& pair : answer_.pairs) {
      const JobResult& a = pair.a.job;
      const JobResult& b = pair.b.job;
      const std::string& before = a.bottleneck.label();
      const std::string& after = b.bottleneck.label();
      table.lines.push_back(
          {pair_name(pair), rate(pair, a), rate(pair, b), fmt::format("{:.3f}", pair.ratio.median),
           fmt::format("{:.3f}-{:.3f}", pair.ratio.low, pair.ratio.high),
           number_text(1e3 * a.step_time.median), number_text(1e3 * b.step_time.median),
           percent_text(pair.probability_b_faster),
           clipped(before == after ? before : fmt::format("{} -> {}", before, after), 60)});
    }
    return table;
  }

  static TextTable parts_table(const JobComparison& pair)
  {
    TextTable table;
    table.header = {"part of the step", "A ms", "B ms", "difference ms", "", ""};
    table.texts = 1;
    for (const StepPart& part : kStepParts) {
      if (part.planned && !pair.a.job.planned)
        continue;
      const double before = 1e3 * (pair.a.job.time.*part.time).value();
      const double after = 1e3 * (pair.b.job.time.*part.time).value();
      table.lines.push_back({words_of(part.key), number_text(before), number_text(after),
                             signed_number(after - before), "", ""});
    }
    return table;
  }

  // What planners pay for, where the experiments tell it.
  std::vector<std::string> trainings() const
  {
    std::vector<std::string> items;
    for (const JobComparison& pair : answer_.pairs) {
      const JobResult& a = pair.a.job;
      const JobResult& b = pair.b.job;
      std::vector<std::string> words;
      const auto tell = [&](const std::optional<Range>& of_a, const std::optional<Range>& of_b,
                            const std::string& unit) {
        if (of_a && of_b)
          words.push_back(fmt::format("{} {} in A, {} in B", number_text(of_a->median, true), unit,
                                      number_text(of_b->median, true)));
      };
      tell(a.tokens_per_s, b.tokens_per_s, "tokens/s");
      tell(a.days, b.days, "days");
      if (a.currency == b.currency)
        tell(a.cost, b.cost, a.currency.empty() ? "to pay" : a.currency);
      if (a.memory.needed.value() > 0 && a.memory.needed != b.memory.needed)
        words.push_back(fmt::format("{} of device memory in A, {} in B", to_text(a.memory.needed),
                                    to_text(b.memory.needed)));
      if (a.tokens_per_s || a.days || a.cost)
        items.push_back(leading_name(pair) + joined(words, "; "));
    }
    return items;
  }

  std::vector<std::string> causes() const
  {
    std::vector<std::string> items;
    for (const JobComparison& pair : answer_.pairs) {
      std::vector<std::string> words;
      for (std::size_t i = 0; i < std::min(kCauses, pair.causes.size()); ++i)
        words.push_back(words_of(pair.causes[i].part) + " " +
                        signed_ms(pair.causes[i].difference.value()));
      if (!words.empty())
        items.push_back(
            leading_name(pair) +
            (pair.same_work() ? "" : fmt::format("for as many {} ", word_of(pair.counted_in))) +
            joined(words) + "; " + resource_change(pair));
    }
    if (items.empty())
      items.emplace_back("no part of the step differs");
    return items;
  }

  std::vector<std::string> alone() const
  {
    std::vector<std::string> items;
    for (const JobComparison& pair : answer_.pairs)
      for (const SettingAlone& it : pair.settings_alone)
        items.push_back(leading_name(pair) + it.setting.pointer + " " + or_default(it.setting.b) +
                        ": " + change_text(it.ratio - 1));
    return items;
  }

  std::vector<std::string> bounds() const
  {
    std::vector<std::string> items;
    std::size_t holds = 0;
    for (const JobComparison& pair : answer_.pairs)
      for (const RatioBound& it : pair.bounds) {
        holds += it.state == BoundState::holds ? 1U : 0U;
        if (it.state != BoundState::holds)
          items.push_back(fmt::format(
              "{}: B / A is {} {:g} with {}: {}", pair_name(pair), word_of(it.side), it.ratio,
              percent_text(it.probability_broken),
              it.state == BoundState::broken ? "the bound is broken" : "too close to tell"));
      }
    if (holds > 0)
      items.push_back(fmt::format("{} of {} bounds hold with {}", holds, holds + items.size(),
                                  percent_text(answer_.confidence)));
    return items;
  }

  std::vector<std::string> warnings() const
  {
    std::vector<std::string> items;
    for (const auto& [left, side] :
         {std::pair{answer_.unmatched.a, "A"}, std::pair{answer_.unmatched.b, "B"}})
      if (left > 0)
        items.push_back(fmt::format("{} points of {} have no counterpart", left, side));
    items.insert(items.end(), answer_.warnings.begin(), answer_.warnings.end());
    return items;
  }

  const CompareAnswer& answer_;
  const TableStyle& style_;
  std::vector<std::string> telling_;
};

// What a line of CSV tells of both sides.
struct CsvNumber {
  const char* name;
  double (*of)(const JobComparison&);
};
constexpr CsvNumber kNumbers[] = {
    {"a_throughput_samples_per_s",
     [](const JobComparison& it) { return it.a.job.throughput.median; }},
    {"b_throughput_samples_per_s",
     [](const JobComparison& it) { return it.b.job.throughput.median; }},
    {"ratio", [](const JobComparison& it) { return it.ratio.median; }},
    {"ratio_low", [](const JobComparison& it) { return it.ratio.low; }},
    {"ratio_high", [](const JobComparison& it) { return it.ratio.high; }},
    {"interval_fraction", [](const JobComparison& it) { return it.ratio.interval; }},
    {"probability_b_faster", [](const JobComparison& it) { return it.probability_b_faster; }},
    {"a_step_time_s", [](const JobComparison& it) { return it.a.job.step_time.median; }},
    {"b_step_time_s", [](const JobComparison& it) { return it.b.job.step_time.median; }}};

} // namespace

std::string report_compare(const CompareAnswer& answer, const TableStyle& style)
{
  return CompareText(answer, style).text();
}

std::string compare_csv(const CompareAnswer& answer)
{
  std::set<std::string> settings;
  std::map<std::string, Seconds models::StepTimes::*> parts; // by key
  for (const JobComparison& pair : answer.pairs) {
    for (const auto& it : pair.settings.items())
      settings.insert(it.key());
    for (const StepPart& part : kStepParts)
      if (!part.planned || pair.a.job.planned || pair.b.job.planned)
        parts[part.key] = part.time;
  }
  std::vector<std::string> header(settings.begin(), settings.end());
  header.emplace_back("job");
  for (const CsvNumber& number : kNumbers)
    header.emplace_back(number.name);
  for (const char* side : {"a", "b"})
    for (const auto& [key, time] : parts)
      header.push_back(std::string(side) + "_time_" + key + "_s");
  header.insert(header.end(), {"a_bottleneck", "b_bottleneck"});
  std::string text = csv_line(header);
  for (const JobComparison& pair : answer.pairs) {
    std::vector<std::string> fields;
    for (const std::string& pointer : settings)
      fields.push_back(pair.settings.contains(pointer) ? value_text(pair.settings.at(pointer))
                                                       : "");
    fields.push_back(pair.job);
    for (const CsvNumber& number : kNumbers)
      fields.push_back(fmt::format("{}", number.of(pair)));
    for (const JobOfSide* side : {&pair.a, &pair.b})
      for (const auto& [key, time] : parts)
        fields.push_back(fmt::format("{}", (side->job.time.*time).value()));
    fields.push_back(pair.a.job.bottleneck.resource);
    fields.push_back(pair.b.job.bottleneck.resource);
    text += csv_line(fields);
  }
  return text;
}

} // namespace foretrain::experiments
