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
template <class Answer, std::string (*Form)(const Answer&)>
std::string text_of(const Json& answer)
{
  return Form(read_from<Answer>(answer, "the answer"));
}

template <class Answer, std::string (*Form)(const Answer&, const TableStyle&)>
std::string table_of(const Json& answer, const TableStyle& style)
{
  return Form(read_from<Answer>(answer, "the answer"), style);
}

template <class Answer, std::string (*Form)(const Answer&)>
std::string table_of_fleet(const Json& answer, const TableStyle&)
{
  return text_of<Answer, Form>(answer);
}

std::string whole_page(const ExperimentResult& result)
{
  return report_html(result);
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
     &text_of<FleetComparison, &fleet_comparison_csv>, nullptr},
    {"plan", [](const Json& a) { return a.contains("candidates") && a.contains("fleet"); },
     &table_of_fleet<FleetPlanAnswer, &fleet_plan_table>,
     &text_of<FleetPlanAnswer, &fleet_plan_csv>, &text_of<FleetPlanAnswer, &fleet_plan_html>},
    {"fleet", [](const Json& a) { return a.contains("points") && a.contains("fleet"); },
     &table_of_fleet<FleetSweepAnswer, &fleet_points_table>,
     &text_of<FleetSweepAnswer, &fleet_points_csv>, &text_of<FleetSweepAnswer, &fleet_points_html>},
    {"compare", [](const Json& a) { return a.contains("pairs"); },
     &table_of<CompareAnswer, &report_compare>, &text_of<CompareAnswer, &compare_csv>, nullptr},
    {"plan", [](const Json& a) { return a.contains("candidates"); },
     &table_of<PlanAnswer, &report_plan>, &text_of<PlanAnswer, &plan_csv>, nullptr},
    {"explain", [](const Json& a) { return a.contains("point"); },
     &table_of<Explanation, &report_explain>, nullptr, &text_of<Explanation, &explain_html>},
    {"fleet", [](const Json& a) { return a.contains("fleet"); },
     &table_of_fleet<FleetAnswer, &fleet_table>, nullptr, nullptr},
    {"predict", [](const Json& a) { return a.contains("points") && a.at("points").is_array(); },
     &table_of<ExperimentResult, &report_table>, &text_of<ExperimentResult, &report_csv>,
     &text_of<ExperimentResult, &whole_page>},
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
  prediction_in(answer); // refused at once where it is damaged
  return answer;
}

std::string answer_text(const Json& answer, const std::string& format, bool colour)
{
  const AnswerKind& kind = *kind_of(answer);
  if ((format == "csv" && kind.csv == nullptr) || (format == "html" && kind.html == nullptr))
    throw UsageError(std::string("an answer of ") + kind.command + " has no form as " + format);
  return format == "json"   ? answer.dump(2) + "\n"
         : format == "csv"  ? kind.csv(answer)
         : format == "html" ? kind.html(answer)
                            : kind.table(answer, {110, colour});
}

std::optional<ExperimentResult> prediction_in(const Json& answer)
{
  if (kind_of(answer)->command != std::string_view("predict"))
    return std::nullopt;
  return read_from<ExperimentResult>(answer, "answer of predict");
}

} // namespace foretrain::cli
