#include "experiments/cli/answer_text.hpp"

#include "experiments/fleet/fleet_compare.hpp"
#include "experiments/fleet/fleet_plan.hpp"
#include "experiments/fleet/fleet_points_text.hpp"
#include "experiments/fleet/fleet_text.hpp"
#include "experiments/report/report_compare.hpp"
#include "experiments/report/report_csv.hpp"
#include "experiments/report/report_explain.hpp"
#include "experiments/report/report_html.hpp"
#include "experiments/report/report_plan.hpp"
#include "experiments/report/report_table.hpp"
#include "experiments/run/keep/result_json.hpp"
#include "sim/base/error.hpp"
#include "sim/base/files.hpp"

#include <algorithm>
#include <filesystem>

namespace foretrain::cli {

namespace {

using namespace experiments;

using Text = std::string (*)(const Json&);
using Table = std::string (*)(const Json&, const TableStyle&);

// Refuses what no run can have written.
template <class Answer>
Answer checked(const Json& answer, const char* command)
{
  auto document = std::make_shared<Document>();
  document->name = std::string("answer of ") + command;
  document->root = answer;
  return read_as<Answer>(Value(DocumentPtr(document)));
}

template <class Answer, std::string (*Form)(const Answer&)>
std::string of_fleet(const Json& answer)
{
  return Form(checked<Answer>(answer, "fleet"));
}

template <class Answer, std::string (*Form)(const Answer&)>
std::string table_of_fleet(const Json& answer, const TableStyle&)
{
  return of_fleet<Answer, Form>(answer);
}

std::string whole_page(const Json& answer)
{
  return report_html(answer);
}

// Which command printed it is told by the keys that its answers alone have.
struct AnswerKind {
  const char* command;
  bool (*is)(const Json& answer);
  Table table;
  Text csv;  // null: none
  Text html; // likewise
};

constexpr AnswerKind kAnswers[] = {
    {"compare", [](const Json& a) { return a.contains("pairs") && a.contains("seeds"); },
     &table_of_fleet<FleetComparison, &fleet_comparison_table>,
     &of_fleet<FleetComparison, &fleet_comparison_csv>, nullptr},
    {"plan", [](const Json& a) { return a.contains("candidates") && a.contains("fleet"); },
     &table_of_fleet<FleetPlanAnswer, &fleet_plan_table>,
     &of_fleet<FleetPlanAnswer, &fleet_plan_csv>, &of_fleet<FleetPlanAnswer, &fleet_plan_html>},
    {"fleet", [](const Json& a) { return a.contains("points") && a.contains("fleet"); },
     &table_of_fleet<FleetSweepAnswer, &fleet_points_table>,
     &of_fleet<FleetSweepAnswer, &fleet_points_csv>,
     &of_fleet<FleetSweepAnswer, &fleet_points_html>},
    {"compare", [](const Json& a) { return a.contains("pairs"); }, &report_compare, &compare_csv,
     nullptr},
    {"plan", [](const Json& a) { return a.contains("candidates"); }, &report_plan, &plan_csv,
     nullptr},
    {"explain", [](const Json& a) { return a.contains("point"); }, &report_explain, nullptr,
     &explain_html},
    {"fleet", [](const Json& a) { return a.contains("fleet"); },
     &table_of_fleet<FleetAnswer, &fleet_table>, nullptr, nullptr},
    {"predict", [](const Json& a) { return a.contains("points") && a.at("points").is_array(); },
     &report_table, &report_csv, &whole_page},
};

const AnswerKind* kind_of(const Json& answer)
{
  const auto* const it = std::find_if(std::begin(kAnswers), std::end(kAnswers),
                                      [&](const AnswerKind& kind) { return kind.is(answer); });
  return it == std::end(kAnswers) ? nullptr : it;
}

} // namespace

bool is_answer(const std::string& path)
{
  if (path == "-")
    return true;
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored) && read_file(path, 1) == "{";
}

Json read_answer(const std::string& path)
{
  const std::string name = path == "-" ? "standard input" : path;
  Json answer = Json::parse(read_file(path, kAnySize, name), nullptr, false);
  if (!answer.is_object() || kind_of(answer) == nullptr)
    throw ConfigError(name, "", "is no answer of foretrain",
                      "predict, sweep, explain, compare, plan and fleet print one with --format "
                      "json");
  if (is_prediction(answer))
    checked<ExperimentResult>(answer, "predict");
  return answer;
}

std::string answer_text(const Json& answer, const std::string& format, bool colour)
{
  const AnswerKind& kind = *kind_of(answer);
  if ((format == "csv" && kind.csv == nullptr) || (format == "html" && kind.html == nullptr))
    throw UsageError(std::string("an answer of ") + kind.command + " has no form as " + format);
  try {
    return format == "json"   ? answer.dump(2) + "\n"
           : format == "csv"  ? kind.csv(answer)
           : format == "html" ? kind.html(answer)
                              : kind.table(answer, {110, colour});
  } catch (const Json::exception& error) {
    throw ConfigError(std::string("answer of ") + kind.command, "",
                      std::string("is damaged: ") + error.what());
  }
}

bool is_prediction(const Json& answer)
{
  return std::string(kind_of(answer)->command) == "predict";
}

} // namespace foretrain::cli
