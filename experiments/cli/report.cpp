// The report of a sweep from the file that keeps its points, or of an answer that was kept as JSON.
#include "experiments/answers/stored_answer.hpp"
#include "experiments/cli/answer_text.hpp"
#include "experiments/cli/experiment_arguments.hpp"
#include "experiments/cli/sweep_status.hpp"
#include "experiments/report/report_csv.hpp"
#include "experiments/report/report_table.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

#include <unistd.h>

#include <filesystem>
#include <iostream>
#include <optional>

namespace foretrain::cli {

namespace {

using namespace experiments;

struct ReportArguments {
  std::string store;
  std::string experiment;
  std::string out;
  std::string format = "table";
};

StoredAnswer read_store(const ReportArguments& a)
{
  std::error_code error;
  if (!std::filesystem::is_regular_file(a.store, error))
    throw UsageError("there is no file '" + excerpt(a.store, 200) + "'" +
                     (parts_beside(a.store).empty()
                          ? ""
                          : "\n  hint: tasks have left parts of it; the sweep's command without "
                            "--launcher and --part collects them"));
  StoredAnswer answer = stored_answer(ResultStore(a.store, StoreUse::read), a.experiment);
  if (answer.result.points.empty())
    throw UsageError("'" + excerpt(a.store, 200) +
                     "' holds no point of its last sweep: " + joined(answer.notes, "; "));
  return answer;
}

int report_of_answer(const ReportArguments& a)
{
  const Json answer = read_answer(a.store);
  std::optional<ExperimentResult> prediction;
  if (!a.out.empty()) {
    prediction = prediction_in(answer);
    if (!prediction)
      throw UsageError("--out writes reports of predict and sweep; this is another answer");
    make_directory(a.out, "--out");
  }
  std::cout << answer_text(answer, a.format, isatty(STDOUT_FILENO) == 1) << std::flush;
  if (prediction)
    write_reports(a.out, *prediction);
  return done;
}

int run_report(const ReportArguments& a)
{
  if (is_answer(a.store))
    return report_of_answer(a);
  if (a.format == "html")
    throw UsageError("--format html needs an answer as JSON; --out writes a store's report.html");
  const StoredAnswer answer = read_store(a);
  if (!a.out.empty())
    make_directory(a.out, "--out");
  if (a.format == "json")
    std::cout << written(answer.result).dump(2) << "\n";
  else if (a.format == "csv")
    std::cout << report_csv(answer.result);
  else
    std::cout << report_table(answer.result, {110, isatty(STDOUT_FILENO) == 1});
  std::cout.flush();
  for (const std::string& note : answer.notes)
    std::cerr << note << "\n";
  write_reports(a.out, answer.result);
  return done;
}

} // namespace

std::function<int()> report(CLI::App& app)
{
  const auto a = std::make_shared<ReportArguments>();
  app.add_option("DB", a->store,
                 "file that a sweep has written, or what a command printed with --format json; - "
                 "for standard input")
      ->required();
  app.add_option("--experiment", a->experiment,
                 "name of the experiment, where several swept into the file; default: the last");
  app.add_option("--out", a->out, "directory for report.html, result.json, result.csv");
  app.add_option("--format", a->format, "table, json, csv; of an answer as JSON, html too")
      ->check(CLI::IsMember({"table", "json", "csv", "html"}));
  return [a] { return run_report(*a); };
}

} // namespace foretrain::cli
