#include "experiments/fleet/fleet_html.hpp"

#include "experiments/fleet/fleet_gantt.hpp"
#include "experiments/fleet/fleet_text.hpp"
#include "experiments/fleet/time_picture.hpp"
#include "experiments/report/report_html_parts.hpp"
#include "experiments/report/svg.hpp"
#include "experiments/report/svg_bars.hpp"
#include "experiments/report/svg_text.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

using namespace models::fleet;

class FleetPage {
public:
  FleetPage(const FleetAnswer& answer, const FleetRun& run)
      : answer_(answer), run_(run), picture_(run.result)
  {
  }

  std::string html() const
  {
    const std::string body =
        section("answer", "In short", lead() + warnings()) +
        section("hours", "Where GPU hours went", hours()) +
        section("time", "Use and queue over time", over_time()) +
        section("gantt", "Who held which nodes", fleet_gantt(run_)) +
        section("overheads", "Failures and checkpoints over time", overheads_over_time(run_)) +
        section("queues", "Queues", groups(answer_.by_queue, "queue")) +
        section("accounts", "Accounts",
                answer_.by_account.size() < 2 ? "" : groups(answer_.by_account, "account")) +
        section("sizes", "By GPUs", groups(answer_.by_size, "GPUs")) +
        section("trace", "The trace", trace());
    return page(answer_.fleet,
                "<p>" + escaped(fmt::format("{} GPUs, {}", answer_.gpus, answer_.policy)) + "</p>",
                body, "foretrain " + escaped(answer_.version));
  }

private:
  std::string drained() const
  {
    const auto& nodes = answer_.failures->drained;
    return nodes ? fmt::format(", nodes drained {:.0f}", nodes->median) : "";
  }

  std::string waits() const
  {
    if (!answer_.wait_s)
      return "No job ran to its end.";
    const double p90 = answer_.wait_s->p90.median;
    return fmt::format("Jobs wait {} on average, nine of ten {}.",
                       duration_text(answer_.wait_s->mean.median),
                       p90 > 0 ? "less than " + duration_text(p90) : "start at once");
  }

  std::string lead() const
  {
    std::string text = "<p class=\"lead\">" + prose(waits()) + "</p>";
    text += "<p>" +
            prose(fmt::format("{}. In {}, {} of the GPU time was held, {} was productive.",
                              jobs_text(answer_), duration_text(answer_.makespan_s.median),
                              percent_of(answer_.utilisation.median),
                              percent_of(answer_.goodput.median))) +
            "</p>";
    if (answer_.failures)
      text += "<p>" +
              prose(fmt::format("Failures {:.0f}, interruptions of jobs {:.0f}{}.",
                                answer_.failures->failures.median,
                                answer_.failures->interruptions.median, drained())) +
              "</p>";
    return text;
  }

  std::string hours() const
  {
    const double all = cluster_gpu_hours(answer_);
    std::string rows;
    for (const auto& [name, part] : fleet_hours_parts())
      if (const double hours = (answer_.gpu_hours.*part).median; hours > 0 && all > 0)
        rows += bar_row(name, meter(hours / all, name),
                        number_text(hours, true) + " h, " + percent_of(hours / all));
    return rows;
  }

  std::string over_time() const
  {
    const auto& moments = run_.result.moments;
    if (moments.empty())
      return "";
    const std::vector<double> busy = picture_.mean_of(moments, &Moment::busy),
                              waiting = picture_.mean_of(moments, &Moment::waiting);
    const double most = std::max(1.0, *std::max_element(waiting.begin(), waiting.end()));
    return TimePicture::begin(250, "GPUs in use and jobs that wait, over time") +
           TimePicture::area(busy, answer_.gpus, 14, 90, 0) +
           TimePicture::area(waiting, most, 130, 90, 1) +
           fmt::format("<text x=\"0\" y=\"20\">{} GPUs</text><text x=\"0\" y=\"136\">{:.0f} "
                       "wait</text>",
                       number_text(answer_.gpus, true), most) +
           picture_.axis(240) + "</svg>";
  }

  static std::string wait_cell(const char* label, const Range* wait)
  {
    return wait == nullptr ? number_cell(label)
                           : number_cell(label, duration_text(wait->median), wait->median);
  }

  std::string groups(const std::vector<std::pair<std::string, FleetGroup>>& entries,
                     const char* title) const
  {
    std::string rows;
    for (const auto& [name, group] : entries) {
      rows += "<tr>" + cell(title, escaped(name)) +
              number_cell("jobs", std::to_string(group.jobs), group.jobs) +
              number_cell("GPU hours", number_text(group.gpu_hours.median, true),
                          group.gpu_hours.median) +
              wait_cell("mean wait", group.wait_s ? &group.wait_s->mean : nullptr) +
              wait_cell("p90 wait", group.wait_s ? &group.wait_s->p90 : nullptr) + "</tr>";
    }
    std::string head = fmt::format("<th scope=\"col\">{}</th>", title);
    for (const char* number : {"jobs", "GPU hours", "mean wait", "p90 wait"})
      head += fmt::format("<th scope=\"col\" class=\"number\">{}</th>", number);
    return "<table class=\"stacking\"><thead><tr>" + head + "</tr></thead><tbody>" + rows +
           "</tbody></table>";
  }

  std::string warnings() const
  {
    std::string items;
    for (const std::string& warning : answer_.warnings)
      items += "<li>" + prose(warning) + "</li>";
    return items.empty() ? "" : "<ul>" + items + "</ul>";
  }

  std::string trace() const
  {
    if (!answer_.trace)
      return "";
    std::string items;
    for (const TraceNote& note : answer_.trace->notes)
      items += "<li>" + prose(note_text(note)) + "</li>";
    return "<p>" +
           prose(
               fmt::format("{} read, {} left out.", answer_.trace->read, answer_.trace->left_out)) +
           "</p><ul>" + items + "</ul>";
  }

  const FleetAnswer& answer_;
  const FleetRun& run_;
  TimePicture picture_;
};

} // namespace

std::string fleet_html(const FleetAnswer& answer, const FleetRun& run)
{
  return FleetPage(answer, run).html();
}

} // namespace foretrain::experiments
