#include "experiments/report/report_plan.hpp"

#include "experiments/report/report_csv.hpp"
#include "experiments/report/svg_text.hpp"
#include "experiments/report/text_table.hpp"
#include "experiments/run/keep/result_columns.hpp"
#include "sim/base/json_text.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

// A problem and its hint.
std::string on_one_line(std::string error)
{
  constexpr std::string_view hint = "\n  hint: ";
  if (const std::size_t at = error.find(hint); at != std::string::npos)
    error.replace(at, hint.size(), "; ");
  return error;
}

constexpr std::size_t kPlanTextWidth = 24; // of an option in the table

class PlanText {
public:
  PlanText(const PlanAnswer& answer, const TableStyle& style)
      : answer_(answer), candidates_(answer.candidates), style_(style)
  {
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
    std::string words = answer_.plan;
    if (!answer_.description.empty())
      words += ": " + answer_.description;
    std::string text;
    for (const std::string& line : wrapped(clipped(words, 2000), style_.columns))
      text += bold(line) + "\n";
    for (const std::string& goal : answer_.goals)
      text += item_text("goal: " + goal, style_.columns);
    return text + "\n";
  }

  const JobResult& job(std::size_t i) const { return answer_.job_of(i); }
  std::string money(double cost) const { return plan_money(answer_, cost); }
  std::string options(std::size_t i) const { return candidates_[i].words(); }

  std::string rate(std::size_t i) const
  {
    const Range& range = job(i).throughput;
    return fmt::format("{} samples/s ({} interval {} to {})", number_text(range.median, true),
                       percent_text(range.interval), number_text(range.low, true),
                       number_text(range.high, true));
  }

  std::string table() const
  {
    std::set<std::size_t> shown{0};
    shown.insert(answer_.frontier.begin(), answer_.frontier.end());
    if (answer_.recommended)
      shown.insert(*answer_.recommended);
    std::vector<std::size_t> order;
    for (const std::size_t i : shown)
      if (candidates_[i].done())
        order.push_back(i);
    std::stable_sort(order.begin(), order.end(), [this](std::size_t a, std::size_t b) {
      return candidates_[a].cost < candidates_[b].cost;
    });
    TextTable table;
    table.header.emplace_back("");
    for (const auto& [change, option] : candidates_[0].options)
      table.header.push_back(clipped(change, kPlanTextWidth));
    table.texts = table.header.size();
    for (const Size& size : sizes())
      table.header.emplace_back(size.title);
    table.header.push_back(
        answer_.currency.empty() ? "cost" : clipped("cost, " + answer_.currency, kPlanTextWidth));
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
    if (candidates_[0].jobs.size() > 1)
      text += "samples/s and limits are those of job '" + answer_.job + "'.\n";
    return text;
  }

  struct Size {
    const char* key;
    const char* title;
    int JudgedCandidate::*of;
  };
  // Of the cluster: worth a column unless a change says it.
  std::vector<Size> sizes() const
  {
    std::vector<Size> sizes;
    for (const Size size : {Size{"nodes", "nodes", &JudgedCandidate::nodes},
                            Size{"gpus", "GPUs", &JudgedCandidate::gpus}}) {
      const Settings& options = candidates_[0].options;
      if (std::none_of(options.begin(), options.end(),
                       [&](const auto& option) { return option.first == size.key; }))
        sizes.push_back(size);
    }
    return sizes;
  }

  // In %; what misses the confidence asked for does so in print, too.
  std::string probability(double share) const
  {
    const std::string text = fmt::format("{:.0f}", 100 * share);
    return share < answer_.confidence && std::round(100 * share) >= 100 * answer_.confidence
               ? fmt::format("{:.1f}", std::floor(1000 * share) / 10)
               : text;
  }

  std::vector<std::string> line(std::size_t i) const
  {
    const JudgedCandidate& it = candidates_[i];
    std::vector<std::string> line{answer_.recommended == i ? "*" : ""};
    for (const auto& [change, option] : it.options)
      line.push_back(clipped(value_text(option), kPlanTextWidth));
    for (const Size& size : sizes())
      line.push_back(std::to_string(it.*size.of));
    line.push_back(number_text(it.cost, true));
    line.push_back(number_text(job(i).throughput.median));
    if (whole_training())
      line.push_back(number_text(job(i).days ? job(i).days->median : 0));
    line.push_back(it.goals.empty() ? "-" : probability(it.probability));
    line.push_back(clipped(job(i).bottleneck.label(), kPlanTextWidth));
    line.push_back(!it.fits ? "does not fit in GPU memory" : i == 0 ? "today" : "");
    return line;
  }

  std::vector<std::string> in_short() const
  {
    std::vector<std::string> items;
    const std::string confidence = percent_text(answer_.confidence);
    const auto& chosen = answer_.recommended;
    if (chosen && !answer_.goals.empty())
      items.push_back(fmt::format(
          "{} reaches the goals with {} and costs {}, the least of all that reach them with {}: "
          "{}; limited by {}.",
          options(*chosen), percent_text(candidates_[*chosen].probability),
          money(candidates_[*chosen].cost), confidence, rate(*chosen),
          job(*chosen).bottleneck.label()));
    else if (chosen)
      items.push_back(fmt::format("{} is the fastest within the budget: {}, {}; limited by {}.",
                                  options(*chosen), rate(*chosen), money(candidates_[*chosen].cost),
                                  job(*chosen).bottleneck.label()));
    else if (!answer_.goals.empty())
      items.push_back(no_way(confidence));
    else if (answer_.budget)
      items.emplace_back("Nothing is within the budget.");
    else
      items.emplace_back("Without goals or a budget there is nothing to recommend; the table shows "
                         "what more money brings.");
    if (const auto& fastest = answer_.fastest; chosen && fastest && fastest != chosen)
      items.push_back(fmt::format("The fastest of them is {}: {}, {}.", options(*fastest),
                                  rate(*fastest), money(candidates_[*fastest].cost)));
    return items;
  }

  bool whole_training() const { return answer_.judged_by == JudgedBy::training; }

  // How far the goal that is missed most is reached.
  double reached(std::size_t i) const
  {
    double least = 1e300;
    for (const GoalReached& goal : candidates_[i].goals)
      least = std::min(least, goal.reached);
    return least;
  }

  bool nearer(std::size_t a, std::size_t b) const
  {
    const double of_a = candidates_[a].probability;
    const double of_b = candidates_[b].probability;
    return of_a != of_b ? of_a > of_b : reached(a) > reached(b);
  }

  // How many candidates do not count, and why.
  std::string left_out() const
  {
    std::size_t broken = 0;
    std::size_t large = 0;
    for (const JudgedCandidate& candidate : candidates_) {
      broken += candidate.done() ? 0U : 1U;
      large += candidate.done() && !candidate.fits ? 1U : 0U;
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
      if (candidates_[i].possible() &&
          (!answer_.budget || candidates_[i].cost <= *answer_.budget) &&
          (!nearest || nearer(i, *nearest)))
        nearest = i;
    const std::string within = answer_.budget ? " within the budget" : "";
    if (!nearest)
      return "No candidate counts: " + left_out() + ".";
    return fmt::format("No candidate{} reaches the goals with {}. The nearest, {}, does with {}: "
                       "{}; limited by {}.",
                       within, confidence, options(*nearest),
                       percent_text(candidates_[*nearest].probability), rate(*nearest),
                       job(*nearest).bottleneck.label());
  }

  // A number of steps is more samples where a step is of more.
  std::string whole_training_words(const SingleChange& change, bool same) const
  {
    const double more =
        job(change.candidate).training->samples / static_cast<double>(job(0).training->samples);
    if (std::abs(more - 1) > 1e-6)
      return fmt::format("a training of {:.3g} times the samples, each {:.3g} times as fast", more,
                         change.ratio);
    return same ? "the same time to train"
                : fmt::format("the training {:.3g} times as fast", change.ratio);
  }

  std::vector<std::string> single_changes() const
  {
    std::vector<std::string> items;
    for (const SingleChange& change : answer_.single_changes) {
      const double ratio = change.ratio;
      const bool same = std::abs(ratio - 1) < 0.005;
      std::string what =
          same ? "the same throughput" : fmt::format("{:.3g} times the throughput", ratio);
      if (whole_training())
        what = whole_training_words(change, same);
      std::string words = fmt::format("{}: {} instead of {}: {} for {}", change.change,
                                      change.option, change.instead_of, what, money(change.cost));
      if (!same)
        words += fmt::format(" (faster with {})", percent_text(change.probability_faster));
      if (!candidates_[change.candidate].fits)
        words += "; it does not fit in GPU memory";
      const std::string& before = job(0).bottleneck.label();
      const std::string& after = job(change.candidate).bottleneck.label();
      if (before != after)
        words += fmt::format("; the limit moves from {} to {}", before, after);
      items.push_back(words + ".");
    }
    return items;
  }

  std::vector<std::string> warnings() const
  {
    std::vector<std::string> items;
    const auto too_large =
        std::count_if(candidates_.begin(), candidates_.end(),
                      [](const JudgedCandidate& it) { return it.done() && !it.fits; });
    if (too_large > 0)
      items.push_back(fmt::format("{} candidates need more memory than a GPU has, and do not count",
                                  too_large));
    if (answer_.interrupted)
      items.emplace_back("the run was interrupted: the choice is among what was reached");
    items.insert(items.end(), answer_.warnings.begin(), answer_.warnings.end());
    std::set<std::string> told;
    for (const JudgedCandidate& candidate : candidates_)
      if (!candidate.error.empty() && told.insert(candidate.error).second)
        items.push_back("without answer: " + on_one_line(candidate.error));
    return items;
  }

  const PlanAnswer& answer_;
  const std::vector<JudgedCandidate>& candidates_;
  const TableStyle& style_;
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

std::string plan_money(const PlanAnswer& answer, double cost)
{
  return number_text(cost, true) + (answer.currency.empty() ? "" : " " + answer.currency);
}

std::string plan_csv(const PlanAnswer& answer)
{
  std::vector<std::string> header;
  for (const auto& [change, option] : answer.candidates[0].options)
    header.push_back(change);
  for (const Column& column : kOfCandidate)
    header.emplace_back(column.name);
  header.insert(header.end(), {"frontier", "recommended"});
  for (const Column& column : kOfJob)
    header.emplace_back(column.name);
  header.emplace_back("error");
  std::string text = csv_line(header);
  const auto& frontier = answer.frontier;
  for (std::size_t i = 0; i < answer.candidates.size(); ++i) {
    const JudgedCandidate& candidate = answer.candidates[i];
    const Json json = written(candidate);
    std::vector<std::string> common;
    for (const auto& [change, option] : candidate.options)
      common.push_back(value_text(option));
    for (const Column& column : kOfCandidate)
      common.push_back(field_at(json, column.pointer));
    const bool ahead = std::find(frontier.begin(), frontier.end(), i) != frontier.end();
    common.emplace_back(ahead ? "true" : "false");
    common.emplace_back(answer.recommended == i ? "true" : "false");
    const Json nothing =
        Json::array({Json::object()}); // a candidate without answer has a line, too
    for (const Json& job : candidate.done() ? json.at("jobs") : nothing) {
      std::vector<std::string> fields = common;
      for (const Column& column : kOfJob)
        fields.push_back(field_at(job, column.pointer));
      fields.push_back(candidate.error);
      text += csv_line(fields);
    }
  }
  return text;
}

std::vector<std::string> plan_sentences(const PlanAnswer& answer)
{
  const TableStyle style;
  return PlanText(answer, style).sentences();
}

std::vector<std::string> plan_changes(const PlanAnswer& answer)
{
  const TableStyle style;
  return PlanText(answer, style).changes();
}

std::string report_plan(const PlanAnswer& answer, const TableStyle& style)
{
  return PlanText(answer, style).text();
}

} // namespace foretrain::experiments
