#include "experiments/report/report_html.hpp"

#include "experiments/report/report_html_answer.hpp"
#include "experiments/report/report_html_matrix.hpp"
#include "experiments/report/report_html_model.hpp"
#include "experiments/report/report_html_node.hpp"
#include "experiments/report/report_html_parameters.hpp"
#include "experiments/report/report_html_parts.hpp"
#include "experiments/report/report_html_sharing.hpp"
#include "experiments/report/report_html_step.hpp"
#include "experiments/report/report_html_tables.hpp"
#include "experiments/report/report_html_throughput.hpp"
#include "experiments/report/svg.hpp"
#include "experiments/report/svg_text.hpp"
#include "sim/base/text.hpp"

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

constexpr std::size_t kMaxAnswers = 8;

std::string tile(const std::string& name, const std::string& value, const std::string& detail)
{
  return fmt::format("<div><dt>{}</dt><dd>{}<small>{}</small></dd></div>", escaped(name), value,
                     escaped(detail));
}

std::string ends_text(const Range& range, double factor = 1)
{
  return number_text(factor * range.low, true) + " to " + number_text(factor * range.high, true);
}

std::string gigabytes(Bytes size)
{
  return number_text(1e-9 * size.value()) + " GB";
}

std::string tiles(const ReportRow& best)
{
  const JobResult& job = *best.job;
  std::string html = "<dl class=\"tiles\">";
  const ToldRate told = told_rate(job);
  html += tile(told.unit, number_text(told.rate.median, true), ends_text(told.rate));
  html += tile("step time", number_text(1e3 * job.step_time.median, true) + " ms",
               ends_text(job.step_time, 1e3));
  if (job.mfu)
    html += tile("MFU", percent_text(job.mfu->share.full), "attention of all pairs");
  if (job.days)
    html += tile(job.training_tokens
                     ? fmt::format("days for {} tokens", tick_text(*job.training_tokens))
                     : "days of training",
                 number_text(job.days->median, true),
                 job.cost ? "cost " + money_text(job) : ends_text(*job.days));
  if (!job.mfu)
    html += tile("scaling efficiency", percent_text(job.efficiency),
                 fmt::format("{} x one GPU", number_text(job.speedup)));
  if (job.slowdown)
    html += tile("slowdown by sharing", number_text(*job.slowdown) + " x", "against running alone");
  if (!best.fits())
    html +=
        tile("device memory", "does not fit",
             "needs " + gigabytes(job.memory.needed) + ", has " + gigabytes(job.memory.available));
  if (const std::string resource = best.limited_by(); !resource.empty())
    html +=
        tile("limited by", escaped(resource), percent_text(job.bottleneck.utilisation) + " busy");
  return html + "</dl>";
}

std::string answer_html(const Answer& answer)
{
  std::string html = "<div class=\"answer\">";
  if (!answer.subject.empty())
    html += "<h3>" + escaped(answer.subject) + "</h3>";
  html += "<p class=\"lead\">" + prose(answer.headline) + "</p>" + tiles(*answer.best);
  if (answer.sentences.size() > 1) {
    html += "<ul>";
    for (std::size_t i = 1; i < answer.sentences.size(); ++i)
      html += "<li>" + prose(answer.sentences[i]) + "</li>";
    html += "</ul>";
  }
  return html + "</div>";
}

std::string answers_html(const Report& report)
{
  const auto all = answers(report);
  std::string html;
  for (std::size_t i = 0; i < std::min(all.size(), kMaxAnswers); ++i)
    html += answer_html(all[i]);
  if (all.size() > kMaxAnswers)
    html += fmt::format("<p class=\"note\">And {} more, in the tables below.</p>",
                        all.size() - kMaxAnswers);
  return all.empty()
             ? "<div class=\"answer\"><p class=\"lead\">There is no result to show.</p></div>"
             : html;
}

// "foretrain, version 0.1.0, seed 1, fidelity coupled"
std::string origin(const ExperimentResult& result)
{
  return fmt::format("foretrain, version {}, seed {}, fidelity {}", result.version, result.seed,
                     word_of(result.fidelity));
}

// Links to the sections that are there.
std::string contents(const std::string& body)
{
  std::string html = "<nav aria-label=\"Sections\">";
  for (const auto& [anchor, name] :
       {std::pair{"matrix", "Stacks and models"}, std::pair{"sharing", "Sharing"},
        std::pair{"throughput", "Throughput"}, std::pair{"scaling", "Scaling"},
        std::pair{"step", "Step time"}, std::pair{"pipeline", "Pipeline"},
        std::pair{"memory", "Memory"}, std::pair{"node", "Inside a node"},
        std::pair{"limits", "Limits"}, std::pair{"numbers", "Numbers"},
        std::pair{"parameters", "Parameters"}, std::pair{"settings", "Settings"}})
    if (body.find(fmt::format("<section id=\"{}\"", anchor)) != std::string::npos)
      html += fmt::format("<a href=\"#{}\">{}</a>", anchor, name);
  return html + "</nav>";
}

std::string fold(const std::string& title, const std::string& html)
{
  return html.empty() ? ""
                      : "<details class=\"fold\"><summary>" + escaped(title) + "</summary>" + html +
                            "</details>\n";
}

} // namespace

std::string report_html(const ExperimentResult& result, const std::string& decision)
{
  const Report report(result);
  const std::string title = result.experiment.empty() ? "Prediction" : result.experiment;
  // What decides stands open, what it rests on is folded.
  const std::string body = matrix_section(report) + sharing_section(report) +
                           throughput_section(report) + scaling_section(report) +
                           step_section(report) + pipeline_section(report) +
                           memory_section(report) + fold("Inside a node", node_section(report)) +
                           fold("What limits it", limits_section(report)) +
                           fold("All numbers", numbers_section(report)) +
                           fold("Parameters and their sources", parameters_section(report)) +
                           fold("Settings", settings_section(report));
  std::string header;
  if (!result.description.empty())
    header += "<p>" + escaped(result.description) + "</p>";
  return page(title, header + contents(body),
              (decision.empty() ? answers_html(report) : decision) + warnings_box(report) + "\n" +
                  body,
              "Predicted by " + escaped(origin(result)) +
                  fmt::format(". {} point{}. The same input and seed give the same numbers.",
                              report.points(), report.points() == 1 ? "" : "s"));
}

} // namespace foretrain::experiments
