// What a plan over a fleet says: for people, for programs, and as a page.
#include "experiments/fleet/fleet_plan.hpp"
#include "experiments/fleet/fleet_quantities.hpp"
#include "experiments/fleet/fleet_text.hpp"
#include "experiments/report/report_csv.hpp"
#include "experiments/report/report_html_parts.hpp"
#include "experiments/report/svg.hpp"
#include "experiments/report/svg_text.hpp"
#include "experiments/report/text_table.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

constexpr std::size_t kOptionWidth = 24;
constexpr std::size_t kMostInTable = 60; // candidates; more are left to --format csv

std::string options_text(const FleetCandidateAnswer& it)
{
  std::vector<std::string> words;
  for (const auto& [change, option] : it.options)
    words.push_back(fmt::format("{} {}", change, option));
  return joined(words);
}

std::string price_text(const FleetPlanAnswer& answer, double cost)
{
  return number_text(cost, true) + (answer.currency.empty() ? "" : " " + answer.currency);
}

std::string seeds_text(const FleetPlanAnswer& answer, double probability)
{
  return fmt::format("{:.0f} of {} {}", probability * answer.seeds, answer.seeds,
                     answer.seeds == 1 ? "seed" : "seeds");
}

std::string ranges_of(const FleetCandidateAnswer& it)
{
  const std::string waits =
      it.wait_p90_s ? "waits p90 " + quantity_range(fleet_quantity("/wait_s/p90"), *it.wait_p90_s)
                    : std::string("no job ran");
  return fmt::format("{}, goodput {}, makespan {}", waits,
                     quantity_range(fleet_quantity("/goodput"), *it.goodput),
                     quantity_range(fleet_quantity("/makespan_s"), *it.makespan_s));
}

std::string no_candidate(const FleetPlanAnswer& answer)
{
  const FleetCandidateAnswer* nearest = nullptr;
  for (const FleetCandidateAnswer& it : answer.candidates)
    if (it.error.empty() && (!answer.budget || (it.cost && *it.cost <= *answer.budget)) &&
        (nearest == nullptr || it.probability > nearest->probability ||
         (it.probability == nearest->probability && wait_p90_of(it) < wait_p90_of(*nearest))))
      nearest = &it;
  const std::string within = answer.budget ? " within the budget" : "";
  if (nearest == nullptr)
    return "No candidate" + within + ".";
  return fmt::format(
      "No candidate{} reaches the goals in {} of the seeds. The nearest, {}, does in "
      "{}: {}.",
      within, percent_text(answer.confidence), options_text(*nearest),
      seeds_text(answer, nearest->probability), ranges_of(*nearest));
}

std::vector<std::string> sentences_of(const FleetPlanAnswer& answer)
{
  std::vector<std::string> sentences;
  if (answer.recommended.is_null()) {
    sentences.push_back(no_candidate(answer));
  } else {
    const FleetCandidateAnswer& it = answer.candidates[answer.recommended.get<std::size_t>()];
    const std::string why =
        it.cost ? fmt::format("costs {}, the least of all that do", price_text(answer, *it.cost))
                : fmt::format("needs {} {} with spares, the fewest of all that do", it.nodes,
                              it.nodes == 1 ? "node" : "nodes");
    sentences.push_back(fmt::format("{} reaches the goals in {} and {}: {}.", options_text(it),
                                    seeds_text(answer, it.probability), why, ranges_of(it)));
  }
  if (answer.seeds == 1)
    sentences.emplace_back("One seed says nothing of chances (--seeds N).");
  std::set<std::string> errors;
  for (const FleetCandidateAnswer& it : answer.candidates)
    if (!it.error.empty())
      errors.insert(it.error);
  for (const std::string& error : errors)
    sentences.push_back("Without answer: " + error);
  if (answer.interrupted)
    sentences.emplace_back("Interrupted: the choice is among what was reached.");
  return sentences;
}

struct FleetPlanColumn {
  const char* name;
  std::string (*text)(const FleetPlanAnswer&, const FleetCandidateAnswer&);
};

const FleetPlanColumn kPlanTable[] = {
    {"nodes with spares", [](const FleetPlanAnswer&,
                             const FleetCandidateAnswer& it) { return std::to_string(it.nodes); }},
    {"cost",
     [](const FleetPlanAnswer&, const FleetCandidateAnswer& it) {
       return it.cost ? number_text(*it.cost, true) : std::string();
     }},
    {"goals",
     [](const FleetPlanAnswer& answer, const FleetCandidateAnswer& it) {
       return it.error.empty() ? seeds_text(answer, it.probability) : std::string();
     }},
    {"wait p90",
     [](const FleetPlanAnswer&, const FleetCandidateAnswer& it) {
       return it.wait_p90_s ? quantity_range(fleet_quantity("/wait_s/p90"), *it.wait_p90_s)
                            : std::string();
     }},
    {"goodput",
     [](const FleetPlanAnswer&, const FleetCandidateAnswer& it) {
       return it.goodput ? quantity_range(fleet_quantity("/goodput"), *it.goodput) : std::string();
     }},
    {"makespan",
     [](const FleetPlanAnswer&, const FleetCandidateAnswer& it) {
       return it.makespan_s ? quantity_text(fleet_quantity("/makespan_s"), it.makespan_s->median)
                            : std::string();
     }},
    {"never run",
     [](const FleetPlanAnswer&, const FleetCandidateAnswer& it) {
       return it.never_run ? std::to_string(*it.never_run) : std::string("no answer");
     }},
};

// Columns of which no candidate has anything are left out.
std::vector<const FleetPlanColumn*> columns_of_plan(const FleetPlanAnswer& answer)
{
  std::vector<const FleetPlanColumn*> columns;
  for (const FleetPlanColumn& column : kPlanTable)
    if (std::any_of(answer.candidates.begin(), answer.candidates.end(),
                    [&](const auto& it) { return !column.text(answer, it).empty(); }))
      columns.push_back(&column);
  return columns;
}

bool is_recommended(const FleetPlanAnswer& answer, std::size_t i)
{
  return answer.recommended == Json(i);
}

} // namespace

std::string fleet_plan_table(const FleetPlanAnswer& answer)
{
  std::string text =
      fmt::format("{}: {}, {} candidates, {} {} each\n", answer.plan, answer.fleet,
                  answer.candidates.size(), answer.seeds, answer.seeds == 1 ? "seed" : "seeds");
  for (const std::string& goal : answer.goals)
    text += item_text(
        fmt::format("goal: {}, in {} of the seeds", goal, percent_text(answer.confidence)),
        kTextColumns);
  const auto columns = columns_of_plan(answer);
  TextTable table;
  table.header = {""};
  for (const auto& [change, option] : answer.candidates.front().options)
    table.header.push_back(change);
  table.texts = table.header.size();
  for (const FleetPlanColumn* column : columns)
    table.header.emplace_back(column->name);
  const std::size_t shown = std::min(kMostInTable, answer.candidates.size());
  for (std::size_t i = 0; i < answer.candidates.size(); ++i) {
    if (i >= shown && !is_recommended(answer, i))
      continue;
    table.lines.push_back({is_recommended(answer, i) ? "*" : i == 0 ? "today" : ""});
    for (const auto& [change, option] : answer.candidates[i].options)
      table.lines.back().push_back(clipped(option, kOptionWidth));
    for (const FleetPlanColumn* column : columns)
      table.lines.back().push_back(column->text(answer, answer.candidates[i]));
  }
  text += "\n";
  text += table_text(table);
  if (shown < answer.candidates.size())
    text += fmt::format("... of {}; --format csv has all\n", answer.candidates.size());
  text += "\n";
  for (const std::string& sentence : sentences_of(answer))
    text += item_text(sentence, kTextColumns);
  return text;
}

std::string fleet_plan_csv(const FleetPlanAnswer& answer)
{
  std::vector<std::string> header;
  for (const auto& [change, option] : answer.candidates.front().options)
    header.push_back(change);
  header.insert(header.end(), {"cluster_nodes", "cluster_gpus", "cost", "goals_probability",
                               "recommended", "never_run"});
  using Part = std::optional<Range> FleetCandidateAnswer::*;
  constexpr std::pair<const char*, Part> kParts[] = {
      {"wait_s_p90", &FleetCandidateAnswer::wait_p90_s},
      {"wait_s_mean", &FleetCandidateAnswer::wait_mean_s},
      {"completion_s_mean", &FleetCandidateAnswer::completion_mean_s},
      {"makespan_s", &FleetCandidateAnswer::makespan_s},
      {"utilisation", &FleetCandidateAnswer::utilisation},
      {"goodput", &FleetCandidateAnswer::goodput}};
  for (const auto& [name, part] : kParts)
    for (const char* end : {"", "_low", "_high"})
      header.push_back(std::string(name) + end);
  header.emplace_back("error");
  std::string text = csv_line(header);
  for (std::size_t i = 0; i < answer.candidates.size(); ++i) {
    const FleetCandidateAnswer& it = answer.candidates[i];
    std::vector<std::string> fields;
    for (const auto& [change, option] : it.options)
      fields.push_back(option);
    for (const int number : {it.nodes, it.gpus})
      fields.push_back(std::to_string(number));
    fields.push_back(it.cost ? fmt::format("{}", *it.cost) : "");
    fields.push_back(it.error.empty() ? fmt::format("{}", it.probability) : "");
    fields.emplace_back(is_recommended(answer, i) ? "true" : "false");
    fields.push_back(it.never_run ? std::to_string(*it.never_run) : "");
    for (const auto& [name, part] : kParts)
      for (double Range::*end : {&Range::median, &Range::low, &Range::high})
        fields.push_back(it.*part ? fmt::format("{}", *(it.*part).*end) : "");
    fields.push_back(it.error);
    text += csv_line(fields);
  }
  return text;
}

std::string fleet_plan_html(const FleetPlanAnswer& answer)
{
  std::string lead, goals, head, rows;
  const auto sentences = sentences_of(answer);
  for (std::size_t i = 0; i < sentences.size(); ++i)
    lead += (i == 0 ? "<p class=\"lead\">" : "<p>") + prose(sentences[i]) + "</p>";
  for (const std::string& goal : answer.goals)
    goals += "<li>goal: " + prose(goal) + "</li>";
  const auto columns = columns_of_plan(answer);
  for (const auto& [change, option] : answer.candidates.front().options)
    head += "<th>" + escaped(change) + "</th>";
  for (const FleetPlanColumn* column : columns)
    head += std::string("<th>") + column->name + "</th>";
  for (std::size_t i = 0; i < answer.candidates.size(); ++i) {
    rows += std::string("<tr><th scope=\"row\">") +
            (is_recommended(answer, i) ? "recommended"
             : i == 0                  ? "today"
                                       : "") +
            "</th>";
    for (const auto& [change, option] : answer.candidates[i].options)
      rows += cell(change, escaped(option));
    for (const FleetPlanColumn* column : columns)
      rows += cell(column->name, escaped(column->text(answer, answer.candidates[i])));
    rows += "</tr>";
  }
  const std::string table = "<table class=\"stacking\"><thead><tr><th></th>" + head +
                            "</tr></thead><tbody>" + rows + "</tbody></table>";
  return page(answer.plan,
              "<p>" + escaped(fmt::format("{}, {} seeds each", answer.fleet, answer.seeds)) +
                  "</p>",
              section("answer", "In short", lead + "<ul class=\"goals\">" + goals + "</ul>") +
                  section("candidates", "Candidates", table),
              "foretrain " + escaped(answer.version));
}

} // namespace foretrain::experiments
