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

std::string limits_text(const ReportRow& row, const char* low, const char* high, double factor)
{
  const auto from = row.number(low);
  const auto to = row.number(high);
  return from && to ? number_text(factor * *from, true) + " to " + number_text(factor * *to, true)
                    : "";
}

std::string tiles(const ReportRow& best)
{
  std::string html = "<dl class=\"tiles\">";
  const RateKind kind = rate_kind(best);
  const std::string rate = kind.pointer;
  html += tile(kind.unit, number_text(best.number(kind.pointer).value_or(0), true),
               limits_text(best, (rate + "/low").c_str(), (rate + "/high").c_str(), 1));
  if (const auto step = best.number("/step_time_s"))
    html += tile("step time", number_text(1e3 * *step, true) + " ms",
                 limits_text(best, "/step_time_s/low", "/step_time_s/high", 1e3));
  const auto mfu = best.number("/mfu/full");
  if (mfu)
    html += tile("MFU", percent_text(*mfu), "attention of all pairs");
  if (const auto days = best.number("/days")) {
    const auto cost = best.number("/cost");
    const auto tokens = best.number("/training_tokens");
    html +=
        tile(tokens ? fmt::format("days for {} tokens", tick_text(*tokens)) : "days of training",
             number_text(*days, true),
             cost ? "cost " + money_text(best) : limits_text(best, "/days/low", "/days/high", 1));
  }
  if (const auto efficiency = best.number("/efficiency"); efficiency && !mfu)
    html += tile("scaling efficiency", percent_text(*efficiency),
                 fmt::format("{} x one GPU", number_text(best.number("/speedup").value_or(0))));
  if (const auto slowdown = best.number("/slowdown"))
    html += tile("slowdown by sharing", number_text(*slowdown) + " x", "against running alone");
  if (!best.fits())
    html += tile(
        "device memory", "does not fit",
        "needs " + number_text(1e-9 * best.number("/device_memory_byte/needed").value_or(0)) +
            " GB, has " +
            number_text(1e-9 * best.number("/device_memory_byte/available").value_or(0)) + " GB");
  if (const std::string resource = best.limited_by(); !resource.empty())
    html += tile("limited by", escaped(resource),
                 percent_text(best.number("/bottleneck/utilisation").value_or(0)) + " busy");
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

// "foretrain, version 0.1.0, seed 1, fidelity coupled", as far as known.
std::string origin(const Json& result)
{
  std::vector<std::string> words{"foretrain"};
  for (const auto& [label, pointer] :
       {std::pair{"version ", "/version"}, std::pair{"seed ", "/seed"},
        std::pair{"fidelity ", "/fidelity"}})
    if (const std::string text = text_at(result, pointer); !text.empty())
      words.push_back(label + text);
  return joined(words);
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

std::string report_html(const Json& result, const std::string& decision)
{
  const Report report(result);
  std::string title = text_at(result, "/experiment");
  if (title.empty())
    title = "Prediction";
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
  if (const std::string description = text_at(result, "/description"); !description.empty())
    header += "<p>" + escaped(description) + "</p>";
  return page(title, header + contents(body),
              (decision.empty() ? answers_html(report) : decision) + warnings_box(report) + "\n" +
                  body,
              "Predicted by " + escaped(origin(result)) +
                  fmt::format(". {} point{}. The same input and seed give the same numbers.",
                              report.points(), report.points() == 1 ? "" : "s"));
}

} // namespace foretrain::experiments
