#include "experiments/report/report_html_plan.hpp"

#include "experiments/report/report_html_parts.hpp"
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
  explicit PlanPage(const PlanAnswer& answer) : answer_(answer), candidates_(answer.candidates) {}

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
  const JobResult& job_at(std::size_t i) const { return answer_.job_of(i); }
  double rate_at(std::size_t i) const { return job_at(i).throughput.median; }

  std::string tiles() const
  {
    if (!answer_.recommended)
      return "";
    const std::size_t i = *answer_.recommended;
    const auto tile = [](const std::string& name, const std::string& value,
                         const std::string& detail) {
      return "<div><dt>" + escaped(name) + "</dt><dd>" + escaped(value) + "<small>" +
             escaped(detail) + "</small></dd></div>";
    };
    std::string html = "<dl class=\"tiles\">" +
                       tile("cost", plan_money(answer_, candidates_[i].cost), "of this choice") +
                       tile("samples/s", number_text(rate_at(i), true), answer_.job);
    if (!answer_.goals.empty())
      html += tile("reaches the goals with", percent_text(candidates_[i].probability),
                   "asked: " + percent_text(answer_.confidence));
    return html + tile("limited by", job_at(i).bottleneck.label(), "") + "</dl>";
  }

  std::string goals() const
  {
    std::string html;
    for (const std::string& goal : answer_.goals)
      html += "<li>goal: " + prose(goal) + "</li>";
    return html.empty() ? "" : "<ul class=\"goals\">" + html + "</ul>";
  }

  // Throughput over cost: what nothing beats at no higher cost, and the choice.
  std::string chart() const
  {
    LineChart chart{"throughput over cost of the frontier", "cost", "samples/s", {}, 0};
    const auto point = [this](std::size_t i) {
      const Range& rate = job_at(i).throughput;
      return CurvePoint{candidates_[i].cost, rate.median, rate.low, rate.high,
                        candidates_[i].words()};
    };
    Curve curve;
    for (const std::size_t i : answer_.frontier)
      curve.points.push_back(point(i));
    if (curve.points.size() < 2 || curve.points.front().x >= curve.points.back().x)
      return "";
    chart.curves.push_back(curve);
    if (answer_.recommended)
      chart.curves.push_back({{point(*answer_.recommended)}, 0, 1});
    return section("cost", "What more money brings",
                   "<figure>" + line_chart(chart, 720, 320) + "</figure>");
  }

  std::string changes() const
  {
    double most = 1e-12;
    for (const SingleChange& change : answer_.single_changes)
      most = std::max(most, change.ratio);
    std::string html;
    const auto words = plan_changes(answer_);
    std::size_t i = 0;
    for (const SingleChange& change : answer_.single_changes)
      html += bar_row(change.change + ": " + change.option,
                      value_bar({change.ratio / most, 0, 0, 1 / most, 0}, words[i++]),
                      fmt::format("{:.2f} x", change.ratio));
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
    for (const std::size_t i : answer_.frontier) {
      const JudgedCandidate& it = candidates_[i];
      rows += "<tr><th scope=\"row\">" + prose(it.words()) +
              (answer_.recommended == i ? " <small>recommended</small>" : "") + "</th>" +
              number_cell("cost", plan_money(answer_, it.cost), it.cost) +
              number_cell("samples/s", number_text(rate_at(i), true), rate_at(i)) +
              number_cell("goals", percent_text(it.probability), it.probability) +
              cell("limited by", escaped(job_at(i).bottleneck.label())) + "</tr>\n";
    }
    return section("frontier", "What nothing beats at no higher cost",
                   "<table class=\"stacking\"><thead><tr><th scope=\"col\">choice</th><th "
                   "scope=\"col\" class=\"number\">cost</th><th scope=\"col\" class=\"number\">"
                   "samples/s</th><th scope=\"col\" class=\"number\">reaches goals</th><th "
                   "scope=\"col\">limited by</th></tr></thead><tbody>" +
                       rows + "</tbody></table>");
  }

  const PlanAnswer& answer_;
  const std::vector<JudgedCandidate>& candidates_;
};

} // namespace

std::string plan_html(const PlanAnswer& answer)
{
  return PlanPage(answer).html();
}

} // namespace foretrain::experiments
