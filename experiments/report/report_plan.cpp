#include "experiments/report/report_plan.hpp"

#include "experiments/report/report_csv.hpp"
#include "experiments/report/report_html_rows.hpp"
#include "experiments/report/svg_text.hpp"
#include "experiments/report/text_table.hpp"
#include "experiments/run/keep/result_columns.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

constexpr std::size_t kPlanTextWidth = 24; // of an option in the table

class PlanText {
public:
  PlanText(const Json& answer, const TableStyle& style)
      : answer_(answer), candidates_(answer.at("candidates")), style_(style)
  {
    if (!answer.at("recommended").is_null())
      recommended_ = answer.at("recommended").get<std::size_t>();
  }

  std::string text() const
  {
    return heading() + table() + section("In short", in_short()) +
           section("One change at a time", single_changes()) + section("Warnings", warnings());
  }

  std::vector<std::string> sentences() const { return in_short(); }
  std::vector<std::string> changes() const { return single_changes(); }

private:
  std::string bold(const std::string& text) const
  {
    return style_.colour ? "\x1b[1m" + text + "\x1b[0m" : text;
  }

  std::string section(const std::string& title, const std::vector<std::string>& items) const
  {
    std::string text;
    for (const std::string& item : items)
      text += item_text(item, style_.columns);
    return text.empty() ? "" : "\n" + bold(title) + "\n" + text;
  }

  std::string heading() const
  {
    std::string words = text_at(answer_, "/plan");
    if (const std::string description = text_at(answer_, "/description"); !description.empty())
      words += ": " + description;
    std::string text;
    for (const std::string& line : wrapped(clipped(words, 2000), style_.columns))
      text += bold(line) + "\n";
    for (const Json& goal : answer_.at("goals"))
      text += item_text("goal: " + goal.get<std::string>(), style_.columns);
    return text + "\n";
  }

  // The job that the plan is about.
  const Json& job(std::size_t i) const
  {
    for (const Json& it : candidates_[i].at("jobs"))
      if (it.at("name") == answer_.at("job"))
        return it;
    return candidates_[i].at("jobs").front();
  }

  std::string money(double cost) const
  {
    const std::string currency = text_at(answer_, "/currency");
    return number_text(cost, true) + (currency.empty() ? "" : " " + currency);
  }

  std::string options(std::size_t i) const
  {
    std::vector<std::string> words;
    for (const auto& option : candidates_[i].at("options").items())
      words.push_back(option.key() + ": " + value_text(option.value()));
    return joined(words);
  }

  std::string rate(std::size_t i) const
  {
    const Json& range = job(i).at("throughput_samples_per_s");
    return fmt::format("{} samples/s ({} interval {} to {})",
                       number_text(range.at("median").get<double>(), true),
                       percent_text(range.at("interval").get<double>()),
                       number_text(range.at("low").get<double>(), true),
                       number_text(range.at("high").get<double>(), true));
  }

  std::string table() const
  {
    std::set<std::size_t> shown{0};
    for (const Json& i : answer_.at("frontier"))
      shown.insert(i.get<std::size_t>());
    if (recommended_)
      shown.insert(*recommended_);
    std::vector<std::size_t> order;
    for (const std::size_t i : shown)
      if (candidates_[i].contains("jobs"))
        order.push_back(i);
    std::stable_sort(order.begin(), order.end(), [this](std::size_t a, std::size_t b) {
      return candidates_[a].at("cost") < candidates_[b].at("cost");
    });
    TextTable table;
    table.header.emplace_back("");
    for (const auto& option : candidates_[0].at("options").items())
      table.header.push_back(clipped(option.key(), kPlanTextWidth));
    table.texts = table.header.size();
    for (const Size& size : sizes())
      table.header.emplace_back(size.title);
    const std::string currency = text_at(answer_, "/currency");
    table.header.push_back(currency.empty() ? "cost"
                                            : clipped("cost, " + currency, kPlanTextWidth));
    table.header.emplace_back("samples/s");
    if (whole_training())
      table.header.emplace_back("days");
    for (const char* name : {"goals %", "limited by", ""})
      table.header.emplace_back(name);
    for (const std::size_t i : order)
      table.lines.push_back(line(i));
    std::string text;
    for (const std::string& row : lines_of(table))
      text += (text.empty() ? bold(row) : row) + "\n";
    const std::size_t left = candidates_.size() - order.size();
    if (left > 0)
      text += fmt::format("{} of {} candidates are not shown: they do not work, or something at no "
                          "higher cost is as fast.\n",
                          left, candidates_.size());
    if (candidates_[0].contains("jobs") && candidates_[0].at("jobs").size() > 1)
      text += "samples/s and limits are those of job '" + text_at(answer_, "/job") + "'.\n";
    return text;
  }

  struct Size {
    const char* key;
    const char* title;
  };
  // Of the cluster: worth a column unless a change says it.
  std::vector<Size> sizes() const
  {
    std::vector<Size> sizes;
    for (const Size size : {Size{"nodes", "nodes"}, Size{"gpus", "GPUs"}})
      if (!candidates_[0].at("options").contains(size.key))
        sizes.push_back(size);
    return sizes;
  }

  std::vector<std::string> line(std::size_t i) const
  {
    const Json& it = candidates_[i];
    std::vector<std::string> line{recommended_ == i ? "*" : ""};
    for (const auto& option : it.at("options").items())
      line.push_back(clipped(value_text(option.value()), kPlanTextWidth));
    for (const Size& size : sizes())
      line.push_back(std::to_string(it.at(size.key).get<int>()));
    line.push_back(number_text(it.at("cost").get<double>(), true));
    line.push_back(number_text(job(i).at("throughput_samples_per_s").at("median").get<double>()));
    if (whole_training())
      line.push_back(number_text(number_at(job(i), "/days").value_or(0)));
    line.push_back(it.at("goals").empty()
                       ? "-"
                       : fmt::format("{:.0f}", 100 * it.at("probability").get<double>()));
    line.push_back(clipped(limited_by(job(i)), kPlanTextWidth));
    line.push_back(!it.at("fits_memory").get<bool>() ? "does not fit in GPU memory"
                   : i == 0                          ? "today"
                                                     : "");
    return line;
  }

  std::vector<std::string> in_short() const
  {
    std::vector<std::string> items;
    const std::string confidence = percent_text(answer_.at("confidence").get<double>());
    const bool goals = !answer_.at("goals").empty();
    if (recommended_ && goals)
      items.push_back(fmt::format(
          "{} reaches the goals with {} and costs {}, the least of all that reach them with {}: "
          "{}; limited by {}.",
          options(*recommended_),
          percent_text(candidates_[*recommended_].at("probability").get<double>()),
          money(candidates_[*recommended_].at("cost").get<double>()), confidence,
          rate(*recommended_), limited_by(job(*recommended_))));
    else if (recommended_)
      items.push_back(fmt::format("{} is the fastest within the budget: {}, {}; limited by {}.",
                                  options(*recommended_), rate(*recommended_),
                                  money(candidates_[*recommended_].at("cost").get<double>()),
                                  limited_by(job(*recommended_))));
    else if (goals)
      items.push_back(no_way(confidence));
    else if (answer_.contains("budget"))
      items.emplace_back("Nothing is within the budget.");
    else
      items.emplace_back("Without goals or a budget there is nothing to recommend; the table shows "
                         "what more money brings.");
    if (const Json& fastest = answer_.at("fastest");
        recommended_ && !fastest.is_null() && fastest != *recommended_) {
      const auto i = fastest.get<std::size_t>();
      items.push_back(fmt::format("The fastest of them is {}: {}, {}.", options(i), rate(i),
                                  money(candidates_[i].at("cost").get<double>())));
    }
    return items;
  }

  bool whole_training() const { return text_at(answer_, "/judged_by") == "training"; }

  // How far the goal that is missed most is reached.
  double reached(std::size_t i) const
  {
    double least = 1e300;
    for (const Json& goal : candidates_[i].at("goals"))
      least = std::min(least, goal.at("reached").get<double>());
    return least;
  }

  bool nearer(std::size_t a, std::size_t b) const
  {
    const Json& of_a = candidates_[a].at("probability");
    const Json& of_b = candidates_[b].at("probability");
    return of_a != of_b ? of_a > of_b : reached(a) > reached(b);
  }

  // How many candidates do not count, and why.
  std::string left_out() const
  {
    std::size_t broken = 0;
    std::size_t large = 0;
    for (const Json& candidate : candidates_) {
      if (!candidate.contains("jobs"))
        ++broken;
      else if (!candidate.at("fits_memory").get<bool>())
        ++large;
    }
    std::vector<std::string> reasons;
    const auto add = [&reasons](std::size_t count, const char* one, const char* more) {
      if (count > 0)
        reasons.push_back(fmt::format("{} {}", count, count == 1 ? one : more));
    };
    add(large, "needs more memory than a GPU has", "need more memory than a GPU has");
    add(broken, "does not work", "do not work");
    add(candidates_.size() - broken - large, "is above the budget", "are above the budget");
    return joined(reasons);
  }

  // Why nothing is recommended, from what comes nearest.
  std::string no_way(const std::string& confidence) const
  {
    std::optional<std::size_t> nearest;
    for (std::size_t i = 0; i < candidates_.size(); ++i)
      if (candidates_[i].contains("jobs") &&
          (!answer_.contains("budget") || candidates_[i].at("cost") <= answer_.at("budget")) &&
          candidates_[i].at("fits_memory").get<bool>() && (!nearest || nearer(i, *nearest)))
        nearest = i;
    const std::string within = answer_.contains("budget") ? " within the budget" : "";
    if (!nearest)
      return "No candidate counts: " + left_out() + ".";
    return fmt::format("No candidate{} reaches the goals with {}. The nearest, {}, does with {}: "
                       "{}; limited by {}.",
                       within, confidence, options(*nearest),
                       percent_text(candidates_[*nearest].at("probability").get<double>()),
                       rate(*nearest), limited_by(job(*nearest)));
  }

  std::vector<std::string> single_changes() const
  {
    std::vector<std::string> items;
    for (const Json& change : answer_.at("single_changes")) {
      const double ratio = change.at("throughput_ratio").get<double>();
      const bool same = std::abs(ratio - 1) < 0.005;
      std::string what =
          same ? "the same throughput" : fmt::format("{:.3g} times the throughput", ratio);
      if (whole_training())
        what = same ? "the same time to train"
                    : fmt::format("the training {:.3g} times as fast", ratio);
      std::string words = fmt::format("{}: {} instead of {}: {} for {}", text_at(change, "/change"),
                                      text_at(change, "/option"), text_at(change, "/instead_of"),
                                      what, money(change.at("cost").get<double>()));
      if (!same)
        words += fmt::format(" (faster with {})",
                             percent_text(change.at("probability_faster").get<double>()));
      const std::string before = limited_by(job(0));
      const std::string after = limited_by(job(change.at("candidate").get<std::size_t>()));
      if (before != after)
        words += fmt::format("; the limit moves from {} to {}", before, after);
      items.push_back(words + ".");
    }
    return items;
  }

  std::vector<std::string> warnings() const
  {
    std::vector<std::string> items;
    std::size_t too_large = 0;
    for (const Json& candidate : candidates_)
      too_large += candidate.contains("jobs") && !candidate.at("fits_memory").get<bool>() ? 1U : 0U;
    if (too_large > 0)
      items.push_back(fmt::format("{} candidates need more memory than a GPU has, and do not count",
                                  too_large));
    if (answer_.contains("interrupted"))
      items.emplace_back("the run was interrupted: the choice is among what was reached");
    for (const Json& warning : list_at(answer_, "warnings"))
      items.push_back(warning.get<std::string>());
    std::set<std::string> told;
    for (const Json& candidate : candidates_)
      for (const Json& error : {candidate.value("error", Json())})
        if (error.is_string() && told.insert(error.get<std::string>()).second)
          items.push_back("without answer: " + error.get<std::string>());
    return items;
  }

  const Json& answer_;
  const Json& candidates_;
  const TableStyle& style_;
  std::optional<std::size_t> recommended_;
};

const Column kOfCandidate[] = {{"cluster_nodes", "/nodes"},
                               {"cluster_gpus", "/gpus"},
                               {"cost", "/cost"},
                               {"goals_probability", "/probability"},
                               {"fits_memory", "/fits_memory"}};
const Column kOfJob[] = {{"job", "/name"},
                         {"throughput_samples_per_s", "/throughput_samples_per_s/median"},
                         {"throughput_low_samples_per_s", "/throughput_samples_per_s/low"},
                         {"throughput_high_samples_per_s", "/throughput_samples_per_s/high"},
                         {"step_time_s", "/step_time_s/median"},
                         {"training_total_s", "/training_s/total"},
                         {"days", "/days/median"},
                         {"bottleneck_resource", "/bottleneck/resource"}};

std::string field_at(const Json& json, const std::string& pointer)
{
  const Json::json_pointer at(pointer);
  return json.contains(at) ? value_text(json.at(at)) : "";
}

} // namespace

std::string plan_csv(const Json& answer)
{
  const Json& candidates = answer.at("candidates");
  std::vector<std::string> header;
  for (const auto& option : candidates[0].at("options").items())
    header.push_back(option.key());
  for (const Column& column : kOfCandidate)
    header.emplace_back(column.name);
  header.insert(header.end(), {"frontier", "recommended"});
  for (const Column& column : kOfJob)
    header.emplace_back(column.name);
  header.emplace_back("error");
  std::string text = csv_line(header);
  const Json& frontier = answer.at("frontier");
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    std::vector<std::string> common;
    for (const auto& option : candidates[i].at("options").items())
      common.push_back(value_text(option.value()));
    for (const Column& column : kOfCandidate)
      common.push_back(field_at(candidates[i], column.pointer));
    const bool ahead = std::find(frontier.begin(), frontier.end(), Json(i)) != frontier.end();
    common.emplace_back(ahead ? "true" : "false");
    common.emplace_back(answer.at("recommended") == i ? "true" : "false");
    const Json nothing =
        Json::array({Json::object()}); // a candidate without answer has a line, too
    for (const Json& job : candidates[i].contains("jobs") ? candidates[i].at("jobs") : nothing) {
      std::vector<std::string> fields = common;
      for (const Column& column : kOfJob)
        fields.push_back(field_at(job, column.pointer));
      fields.push_back(field_at(candidates[i], "/error"));
      text += csv_line(fields);
    }
  }
  return text;
}

std::vector<std::string> plan_sentences(const Json& answer)
{
  const TableStyle style;
  return PlanText(answer, style).sentences();
}

std::vector<std::string> plan_changes(const Json& answer)
{
  const TableStyle style;
  return PlanText(answer, style).changes();
}

std::string report_plan(const Json& answer, const TableStyle& style)
{
  return PlanText(answer, style).text();
}

} // namespace foretrain::experiments
