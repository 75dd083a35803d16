// Questions to a result store, in SQL or by the name of one that many ask.
#include "experiments/cli/command.hpp"
#include "experiments/report/report_csv.hpp"
#include "experiments/run/keep/result_store.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iostream>

#include <fmt/format.h>

namespace foretrain::cli {

namespace {

struct NamedQuestion {
  const char* name;
  const char* meaning;
  const char* sql;
};

constexpr NamedQuestion kQuestions[] = {
    {"fastest", "the ten points of highest throughput (in tokens, where they are told) that fit",
     "SELECT settings, job, throughput_samples_per_s, tokens_per_s, efficiency, "
     "bottleneck_resource FROM jobs "
     "WHERE fits ORDER BY coalesce(tokens_per_s, throughput_samples_per_s) DESC LIMIT 10"},
    {"per-gpu", "the same for each GPU",
     "SELECT settings, job, throughput_samples_per_s / gpus AS samples_per_s_per_gpu, "
     "tokens_per_s / gpus AS tokens_per_s_per_gpu FROM jobs "
     "WHERE fits ORDER BY coalesce(tokens_per_s, throughput_samples_per_s) / gpus DESC LIMIT 10"},
    {"scaling", "throughput and efficiency by number of GPUs, of points that fit",
     "SELECT job, gpus, count(*) AS points, min(throughput_samples_per_s) AS lowest, "
     "max(throughput_samples_per_s) AS highest, max(efficiency) AS best_efficiency FROM jobs "
     "WHERE fits GROUP BY job, gpus ORDER BY job, gpus"},
    {"settings", "each value of each setting, and the best throughput of each job with it",
     "SELECT pointer, value, job, count(*) AS points, max(throughput_samples_per_s) AS highest, "
     "max(tokens_per_s) AS most_tokens_per_s FROM settings JOIN jobs USING (point) WHERE fits "
     "GROUP BY pointer, value, job ORDER BY pointer, job, "
     "coalesce(most_tokens_per_s, highest) DESC"},
    {"limits", "what limits jobs at how many points",
     "SELECT bottleneck_resource, count(DISTINCT point) AS points FROM jobs GROUP BY 1 "
     "ORDER BY 2 DESC"},
    {"waiting", "the ten points that lose most of a step to communication and input",
     "SELECT settings, job, time_exposed_communication_s / step_time_s AS communication, "
     "time_input_stall_s / step_time_s AS input FROM jobs ORDER BY communication + input DESC "
     "LIMIT 10"},
    {"failed", "points that could not be predicted, and why",
     "SELECT experiment, result ->> '$.settings' AS settings, error FROM points "
     "WHERE error IS NOT NULL"},
    {"runs", "who wrote into this file, when",
     "SELECT experiment, points, done, known, failed, host, datetime(started, 'unixepoch') AS "
     "started, datetime(updated, 'unixepoch') AS updated, ended FROM runs"},
};

constexpr std::size_t kRowsOnScreen = 20; // beside the names of columns

// A screen is shown the first rows, a pipe or a file all.
void print_table(std::vector<std::vector<std::string>> rows)
{
  const std::size_t shown = isatty(STDOUT_FILENO) == 1 ? kRowsOnScreen + 1 : rows.size();
  const std::size_t more = rows.size() > shown ? rows.size() - shown : 0;
  rows.resize(rows.size() - more);
  std::vector<std::size_t> widths(rows.front().size(), 0);
  for (const auto& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], row[i].size());
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i)
      line += i + 1 < row.size() ? fmt::format("{:<{}}  ", excerpt(row[i], widths[i]), widths[i])
                                 : excerpt(row[i], row[i].size());
    std::cout << line << "\n";
  }
  if (more > 0)
    std::cout << fmt::format("and {} more rows: --format csv prints all\n", more);
}

std::string sql_of(const std::string& question)
{
  if (question.find(' ') != std::string::npos)
    return question;
  std::vector<std::string> names;
  for (const NamedQuestion& it : kQuestions) {
    if (question == it.name)
      return it.sql;
    names.emplace_back(it.name);
  }
  throw UsageError("'" + excerpt(question) + "' is neither SQL nor a known question\n  hint: " +
                   suggestion(question, names, "questions"));
}

} // namespace

std::function<int()> sql(CLI::App& app)
{
  struct SqlArguments {
    std::string store;
    std::string question;
    std::string format = "table";
  };
  const auto a = std::make_shared<SqlArguments>();
  app.add_option("DB", a->store, "file that a sweep has written")->required();
  std::string help = "a SELECT, or one of: ";
  for (const NamedQuestion& it : kQuestions)
    help += fmt::format("{} ({}); ", it.name, it.meaning);
  app.add_option("QUERY", a->question, help + "tables: points, jobs, settings, runs")->required();
  app.add_option("--format", a->format, "table or csv")->check(CLI::IsMember({"table", "csv"}));
  return [a] {
    std::error_code error;
    if (!std::filesystem::is_regular_file(a->store, error))
      throw UsageError("there is no file '" + excerpt(a->store, 200) + "'");
    const experiments::ResultStore store(a->store, experiments::StoreUse::read);
    const auto rows = store.ask(sql_of(a->question));
    if (const auto damaged = store.damaged(); damaged > 0)
      std::cerr << damaged << (damaged == 1 ? " point in " : " points in ") << a->store
                << (damaged == 1 ? " is" : " are")
                << " damaged: what is told there may be wrong; sweep --clean forgets it\n";
    if (a->format == "csv")
      for (const auto& row : rows)
        std::cout << experiments::csv_line(row);
    else
      print_table(rows);
    return static_cast<int>(done);
  };
}

} // namespace foretrain::cli
