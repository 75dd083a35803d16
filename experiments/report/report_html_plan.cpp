#include "experiments/report/report_html_plan.hpp"

#include "experiments/report/report_html_parts.hpp"
#include "experiments/report/report_html_rows.hpp"
#include "experiments/report/report_plan.hpp"
#include "experiments/report/svg.hpp"
#include "experiments/report/svg_bars.hpp"
#include "experiments/report/svg_chart.hpp"
#include "experiments/report/svg_text.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

class PlanPage {
public:
  explicit PlanPage(const Json& answer) : answer_(answer), candidates_(answer.at("candidates")) {}

  std::string html() const
  {
    std::string html = "<div class=\"answer\">";
    const auto sentences = plan_sentences(answer_);
    for (std::size_t i = 0; i < sentences.size(); ++i)
      html += (i == 0 ? "<p class=\"lead\">" : "<p>") + prose(sentences[i]) + "</p>";
    html += tiles() + goals() + "</div>";
    return html + chart() + changes() + frontier();
  }

private:
  const Json& job_at(std::size_t i) const
  {
    for (const Json& it : candidates_[i].at("jobs"))
      if (it.at("name") == answer_.at("job"))
        return it;
    return candidates_[i].at("jobs").front();
  }
  double cost_at(std::size_t i) const { return candidates_[i].at("cost").get<double>(); }
  double rate_at(std::size_t i) const
  {
    return number_at(job_at(i), "/throughput_samples_per_s").value_or(0);
  }
  std::string options_at(std::size_t i) const
  {
    std::string words;
    for (const auto& option : candidates_[i].at("options").items())
      words += (words.empty() ? "" : ", ") + option.key() + ": " + value_text(option.value());
    return words;
  }
  std::string money(double cost) const
  {
    const std::string currency = text_at(answer_, "/currency");
    return number_text(cost, true) + (currency.empty() ? "" : " " + currency);
  }

  std::string tiles() const
  {
    if (answer_.at("recommended").is_null())
      return "";
    const auto i = answer_.at("recommended").get<std::size_t>();
    const auto tile = [](const std::string& name, const std::string& value,
                         const std::string& detail) {
      return "<div><dt>" + escaped(name) + "</dt><dd>" + escaped(value) + "<small>" +
             escaped(detail) + "</small></dd></div>";
    };
    std::string html = "<dl class=\"tiles\">" + tile("cost", money(cost_at(i)), "of this choice") +
                       tile("samples/s", number_text(rate_at(i), true), text_at(answer_, "/job"));
    if (!answer_.at("goals").empty())
      html += tile("reaches the goals with",
                   percent_text(candidates_[i].at("probability").get<double>()),
                   "asked: " + percent_text(answer_.at("confidence").get<double>()));
    return html + tile("limited by", limited_by(job_at(i)), "") + "</dl>";
  }

  std::string goals() const
  {
    std::string html;
    for (const Json& goal : answer_.at("goals"))
      html += "<li>goal: " + prose(goal.get<std::string>()) + "</li>";
    return html.empty() ? "" : "<ul class=\"goals\">" + html + "</ul>";
  }

  // Throughput over cost: what nothing beats at no higher cost, and the choice.
  std::string chart() const
  {
    LineChart chart{"throughput over cost of the frontier", "cost", "samples/s", {}, 0};
    const auto point = [this](std::size_t i) {
      const Json& rate = job_at(i).at("throughput_samples_per_s");
      return CurvePoint{cost_at(i), rate_at(i), rate.at("low").get<double>(),
                        rate.at("high").get<double>(), options_at(i)};
    };
    Curve curve;
    for (const Json& i : answer_.at("frontier"))
      curve.points.push_back(point(i.get<std::size_t>()));
    if (curve.points.size() < 2 || curve.points.front().x >= curve.points.back().x)
      return "";
    chart.curves.push_back(curve);
    if (!answer_.at("recommended").is_null())
      chart.curves.push_back({{point(answer_.at("recommended").get<std::size_t>())}, 0, 1});
    return section("cost", "What more money brings",
                   "<figure>" + line_chart(chart, 720, 320) + "</figure>");
  }

  std::string changes() const
  {
    double most = 1e-12;
    for (const Json& change : answer_.at("single_changes"))
      most = std::max(most, change.at("throughput_ratio").get<double>());
    std::string html;
    const auto words = plan_changes(answer_);
    std::size_t i = 0;
    for (const Json& change : answer_.at("single_changes")) {
      const double ratio = change.at("throughput_ratio").get<double>();
      html += bar_row(text_at(change, "/change") + ": " + text_at(change, "/option"),
                      value_bar({ratio / most, 0, 0, 1 / most, 0}, words[i++]),
                      fmt::format("{:.2f} x", ratio));
    }
    return html.empty()
               ? ""
               : section("changes", "One change at a time",
                         "<p class=\"note\">Throughput over today's; the mark is today.</p>" +
                             html + "<details><summary>in words</summary><ul>" + items(words) +
                             "</ul></details>");
  }

  static std::string items(const std::vector<std::string>& words)
  {
    std::string html;
    for (const std::string& it : words)
      html += "<li>" + prose(it) + "</li>";
    return html;
  }

  std::string frontier() const
  {
    std::string rows;
    for (const Json& number : answer_.at("frontier")) {
      const auto i = number.get<std::size_t>();
      rows += "<tr><th scope=\"row\">" + prose(options_at(i)) +
              (answer_.at("recommended") == i ? " <small>recommended</small>" : "") + "</th>" +
              number_cell("cost", money(cost_at(i)), cost_at(i)) +
              number_cell("samples/s", number_text(rate_at(i), true), rate_at(i)) +
              number_cell("goals", percent_text(candidates_[i].at("probability").get<double>()),
                          candidates_[i].at("probability").get<double>()) +
              cell("limited by", escaped(limited_by(job_at(i)))) + "</tr>\n";
    }
    return section("frontier", "What nothing beats at no higher cost",
                   "<table class=\"stacking\"><thead><tr><th scope=\"col\">choice</th><th "
                   "scope=\"col\" class=\"number\">cost</th><th scope=\"col\" class=\"number\">"
                   "samples/s</th><th scope=\"col\" class=\"number\">reaches goals</th><th "
                   "scope=\"col\">limited by</th></tr></thead><tbody>" +
                       rows + "</tbody></table>");
  }

  const Json& answer_;
  const Json& candidates_;
};

} // namespace

std::string plan_html(const Json& answer)
{
  return PlanPage(answer).html();
}

} // namespace foretrain::experiments
