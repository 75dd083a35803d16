#include "experiments/validate/fleet_rows.hpp"

#include "experiments/fleet/trace_text.hpp"
#include "sim/base/error.hpp"
#include "sim/base/file_name.hpp"

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

// How many jobs start when the file says.
double same_starts(const FleetRun& run, const std::filesystem::path& file,
                   const std::string& column)
{
  const TraceTable table(file, ',');
  table.need({column});
  std::size_t i = 0;
  double same = 0;
  table.each([&](const TraceTable::Row& row) {
    const auto start = number_of(row.at(column));
    if (i < run.result.jobs.size() && start &&
        std::abs(run.result.jobs[i].start.value() - *start) < kPrinted)
      ++same;
    ++i;
  });
  return same;
}

FleetRowVerdict judge(const FleetRow& row, const Value& at)
{
  const std::filesystem::path folder = at.document()->path.parent_path();
  const std::string name = is_file_name(row.fleet) ? (folder / row.fleet).string() : row.fleet;
  const LoadedFleet fleet = load_fleet(name, row.set, "");
  const auto runs = run_fleet(
      fleet,
      {static_cast<std::uint64_t>(fleet.spec.seed.value_or(1)), fleet.spec.seeds, false, {}});
  FleetRowVerdict verdict{row.id, row.says, word_of(row.reference), row.source};
  verdict.within = row.within;
  verdict.bound = row.at_least.has_value();
  verdict.expected = row.at_least ? *row.at_least : row.value.value_or(0);
  if (!row.starts.empty()) {
    verdict.found = same_starts(runs.front(), folder / row.starts, row.column);
  } else {
    const Json answer = written(fleet_answer(fleet, runs));
    verdict.found = number_at_pointer(answer, row.quantity, at);
    if (!row.over.empty())
      verdict.found /= number_at_pointer(answer, row.over, at);
  }
  verdict.holds = verdict.bound ? verdict.found >= verdict.expected
                                : std::abs(verdict.found - verdict.expected) <=
                                      row.within * std::abs(verdict.expected);
  return verdict;
}

void check_row(const FleetRow& row, const Value& at)
{
  if (row.quantity.empty() == row.starts.empty())
    at.fail("must have either a quantity or starts");
  if (row.starts.empty() != row.column.empty())
    at.fail("must have a column beside starts, and only there");
  if (row.value.has_value() == row.at_least.has_value())
    at.fail("must have either a value or at_least");
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
    text += fmt::format(
        "{:6}  {} ({}): {}\n        found {:.6g}, {} {:.6g}{}\n",
        verdict.holds ? "holds" : "missed", verdict.id, verdict.reference, verdict.says,
        verdict.found, verdict.bound ? "at least" : "known", verdict.expected,
        verdict.within > 0 ? fmt::format(" within {:.3g} %", 100 * verdict.within) : "");
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
