#include "experiments/validate/fleet_rows.hpp"

#include "experiments/fleet/fleet_points.hpp"
#include "experiments/fleet/trace_text.hpp"
#include "sim/base/error.hpp"
#include "sim/base/file_name.hpp"
#include "sim/base/quantity_text.hpp"

#include <cmath>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

constexpr double kPrinted = 1e-5; // seconds to which starts are told

double number_at_pointer(const Json& answer, const std::string& pointer, const Value& row)
{
  const Json* found = nullptr;
  if (const nlohmann::json_pointer<std::string> at(pointer); answer.contains(at))
    found = &answer.at(at);
  if (found != nullptr && found->is_object() && found->contains("median"))
    found = &found->at("median");
  if (found == nullptr || !found->is_number())
    row.fail("is about '" + pointer + "', which is no number of the answer");
  return found->get<double>();
}

// What a file says of each job, in order of submission.
std::vector<double> column_of(const std::filesystem::path& file, const std::string& column,
                              std::size_t jobs)
{
  const TraceTable table(file, ',');
  table.need({column});
  std::vector<double> numbers;
  table.each([&](const TraceTable::Row& row) {
    numbers.push_back(number_of(row.at(column)).value_or(std::nan("")));
  });
  if (numbers.size() != jobs)
    throw ConfigError(file.string(), "",
                      fmt::format("has {} jobs, and the fleet {}", numbers.size(), jobs));
  return numbers;
}

// How many jobs start when the file says.
double same_starts(const FleetRun& run, const std::vector<double>& starts)
{
  double same = 0;
  for (std::size_t i = 0; i < starts.size(); ++i)
    if (std::abs(run.result.jobs[i].start.value() - starts[i]) < kPrinted)
      ++same;
  return same;
}

// Of the times from submission to end; a job that does not end is infinitely wrong.
double mean_error(const FleetRun& run, const std::vector<double>& completions)
{
  double sum = 0;
  for (std::size_t i = 0; i < completions.size(); ++i) {
    const double took = (run.result.jobs[i].end - run.workload.jobs[i].submit).value();
    sum += std::abs(took / completions[i] - 1);
  }
  return sum / static_cast<double>(completions.size());
}

// A number, or what a text with a unit says in SI.
double number_of_setting(const FleetPoint& point, const std::string& pointer, const Value& row)
{
  for (const auto& [name, value] : point.settings)
    if (name == pointer) {
      const std::optional<Measure> measure =
          value.is_string() ? parse_measure(value.get<std::string>()) : std::nullopt;
      if (!measure && !value.is_number())
        row.fail("is about the best '" + pointer + "', which is no number");
      return measure ? measure->si() : value.get<double>();
    }
  row.fail("is about the best '" + pointer + "', which the fleet's sweep does not vary");
}

// Of the points of a sweep: the setting of that with most of the quantity; the first of equal ones.
double best_setting(const FleetFile& file, const FleetRow& row, const FleetOptions& options,
                    const Value& at)
{
  const FleetPoint* best = nullptr;
  double most = 0;
  for (const FleetPointRun& run : run_fleet_points(file.points, options)) {
    const double number = number_at_pointer(written(run.answer), row.quantity, at);
    if (best == nullptr || number > most) {
      best = run.point;
      most = number;
    }
  }
  return number_of_setting(*best, row.best, at);
}

double number_of_answer(const LoadedFleet& fleet, const FleetRow& row, const FleetOptions& options,
                        const std::filesystem::path& folder, const Value& at)
{
  const auto runs = run_fleet(fleet, options);
  const std::size_t jobs = runs.front().workload.jobs.size();
  if (!row.starts.empty())
    return same_starts(runs.front(), column_of(folder / row.starts, row.column, jobs));
  if (!row.completions.empty())
    return mean_error(runs.front(), column_of(folder / row.completions, row.column, jobs));
  const Json answer = written(fleet_answer(fleet, runs));
  const double number = number_at_pointer(answer, row.quantity, at);
  return row.over.empty() ? number : number / number_at_pointer(answer, row.over, at);
}

FleetRowVerdict judge(const FleetRow& row, const Value& at)
{
  const std::filesystem::path folder = at.document()->path.parent_path();
  const std::string name = is_file_name(row.fleet) ? (folder / row.fleet).string() : row.fleet;
  const FleetFile file = load_fleet_file(name, row.set, "");
  const FleetSpec& spec = file.points.front().fleet.spec;
  const FleetOptions options{
      static_cast<std::uint64_t>(spec.seed.value_or(1)), spec.seeds, false, {}};
  if (row.best.empty() && file.points.size() > 1)
    at.fail("is about one fleet, and the sweep of '" + row.fleet + "' makes more");
  FleetRowVerdict verdict{row.id, row.says, word_of(row.reference), row.source};
  verdict.within = row.within;
  verdict.bound = row.at_least.has_value();
  verdict.most = row.at_most.has_value();
  verdict.expected = row.at_least ? *row.at_least : row.at_most ? *row.at_most : *row.value;
  verdict.found = row.best.empty()
                      ? number_of_answer(file.points.front().fleet, row, options, folder, at)
                      : best_setting(file, row, options, at);
  verdict.holds = verdict.bound  ? verdict.found >= verdict.expected
                  : verdict.most ? verdict.found <= verdict.expected
                                 : std::abs(verdict.found - verdict.expected) <=
                                       row.within * std::abs(verdict.expected);
  return verdict;
}

void check_row(const FleetRow& row, const Value& at)
{
  const bool by_job = !row.starts.empty() || !row.completions.empty();
  if (row.quantity.empty() != by_job || (!row.starts.empty() && !row.completions.empty()))
    at.fail("must have either a quantity, starts or completions");
  if (!row.best.empty() && (row.quantity.empty() || !row.over.empty()))
    at.fail("must have a quantity and no 'over' beside 'best'");
  if (by_job == row.column.empty())
    at.fail("must have a column beside starts or completions, and only there");
  if (row.value.has_value() + row.at_least.has_value() + row.at_most.has_value() != 1)
    at.fail("must have either a value, at_least or at_most");
}

} // namespace

FleetRowsFile load_fleet_rows(const std::string& name_or_path)
{
  const Value loaded = resolve_preset(name_or_path, kFleetRowsKind);
  auto file = read_as<FleetRowsFile>(loaded);
  file.origin = loaded;
  for (std::size_t i = 0; i < file.rows.size(); ++i)
    check_row(file.rows[i], loaded.at("rows").at(i));
  return file;
}

std::vector<FleetRowVerdict> judge_fleet_rows(const FleetRowsFile& file,
                                              const std::function<void(int, int)>& told)
{
  std::vector<FleetRowVerdict> verdicts;
  for (std::size_t i = 0; i < file.rows.size(); ++i) {
    verdicts.push_back(judge(file.rows[i], file.origin.at("rows").at(i)));
    told(static_cast<int>(i + 1), static_cast<int>(file.rows.size()));
  }
  return verdicts;
}

std::string fleet_rows_table(const std::vector<FleetRowVerdict>& verdicts)
{
  std::string text;
  std::size_t held = 0;
  for (const FleetRowVerdict& verdict : verdicts) {
    held += verdict.holds ? 1U : 0U;
    text += fmt::format("{:6}  {} ({}): {}\n        found {:.6g}, {} {:.6g}{}\n",
                        verdict.holds ? "holds" : "missed", verdict.id, verdict.reference,
                        verdict.says, verdict.found,
                        verdict.bound  ? "at least"
                        : verdict.most ? "at most"
                                       : "known",
                        verdict.expected,
                        verdict.within > 0 ? fmt::format(" within {:.3g} %", 100 * verdict.within)
                                           : "");
  }
  return text + fmt::format("\n{} of {} rows hold\n", held, verdicts.size());
}

Json fleet_rows_json(const std::vector<FleetRowVerdict>& verdicts)
{
  Json rows = Json::array();
  for (const FleetRowVerdict& verdict : verdicts)
    rows.push_back(written(verdict));
  return {{"suite", "fleet"}, {"rows", std::move(rows)}};
}

} // namespace foretrain::experiments
