// What is known of clusters over time, row by row, against simulations of fleets.
#pragma once

#include "experiments/fleet/fleet_answer.hpp"
#include "sim/base/catalog.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace foretrain::experiments {

inline constexpr PresetKind kFleetRowsKind{"fleet rows", "experiments/validation/fleet"};

/// Where a reference comes from: agreement with another simulator is not truth.
enum class ReferenceKind { measured, simulated, formula };
constexpr auto choices(ReferenceKind)
{
  return std::to_array<Choice<ReferenceKind>>({{ReferenceKind::measured, "measured"},
                                               {ReferenceKind::simulated, "simulated"},
                                               {ReferenceKind::formula, "formula"}});
}

/// A number of a fleet's answer, the setting that makes it largest, or how near the start or the
/// completion of each of its jobs is, and what it should be.
struct FleetRow {
  std::string id;
  std::string says;
  ReferenceKind reference = ReferenceKind::measured;
  std::string source;
  std::string fleet;
  std::vector<std::string> set; // POINTER=VALUE
  std::string quantity;
  std::string over;        // the number is a share of this one
  std::string best;        // the number is this setting of the point that has most of the quantity
  std::string starts;      // CSV with a start of each job in a column of this name
  std::string completions; // or with the time from submission to end
  std::string column;
  std::optional<double> value, at_least, at_most;
  double within = 0; // of the value
};

struct FleetRowsFile {
  std::string name;
  std::vector<FleetRow> rows;
  Value origin;
};

FleetRowsFile load_fleet_rows(const std::string& name_or_path);

struct FleetRowVerdict {
  std::string id, says, reference, source;
  double expected = 0;
  double found = 0; // of starts: how many are the same; of completions: the mean error
  double within = 0;
  bool bound = false; // the expected number is the least allowed
  bool most = false;  // or the most
  bool holds = false;
};

/// Throws ConfigError.
std::vector<FleetRowVerdict> judge_fleet_rows(const FleetRowsFile& file,
                                              const std::function<void(int, int)>& told);

std::string fleet_rows_table(const std::vector<FleetRowVerdict>& verdicts);
Json fleet_rows_json(const std::vector<FleetRowVerdict>& verdicts);

template <class V>
void describe(V& v, FleetRow& s)
{
  v.required("id", s.id, "of the row");
  v.required("says", s.says, "what is known");
  v.required("reference", s.reference, "measured on a machine, simulated by others, or a formula");
  v.required("source", s.source, "where it stands");
  v.required("fleet", s.fleet, "a bundled fleet, or a path from this file");
  v.optional("set", s.set, "POINTER=VALUE, changes of the fleet");
  v.optional("quantity", s.quantity, "pointer into the answer; of ranges the median");
  v.optional("over", s.over, "pointer to what the quantity is divided by");
  v.optional("best", s.best,
             "pointer of the fleet's sweep: the number is its value, times in seconds, where the "
             "quantity is largest");
  v.optional("starts", s.starts, "CSV file with the start of each job, in order of submission");
  v.optional("completions", s.completions,
             "CSV file with the seconds from submission to end of each job, in order of "
             "submission: the number is the mean relative error");
  v.optional("column", s.column, "of that file");
  v.optional("value", s.value, "that it should have");
  v.optional("at_least", s.at_least, "or that it should reach");
  v.optional("at_most", s.at_most, "or that it should not exceed");
  v.optional("within", s.within, "relative distance that is allowed", non_negative());
}

template <class V>
void describe(V& v, FleetRowsFile& s)
{
  v.format("foretrain.fleet-rows/1");
  v.required("name", s.name, "of the file");
  v.required("rows", s.rows, "what is known");
}

template <class V>
void describe(V& v, FleetRowVerdict& s)
{
  v.required("id", s.id, "of the row");
  v.required("says", s.says, "what is known");
  v.required("reference", s.reference, "measured, simulated or formula");
  v.required("source", s.source, "where it stands");
  v.required("expected", s.expected, "the known number");
  v.required("found", s.found, "the simulated one");
  v.required("within", s.within, "relative distance that is allowed");
  v.required("bound", s.bound, "the known number is the least allowed");
  v.required("most", s.most, "the known number is the most allowed");
  v.required("holds", s.holds, "whether it is");
}

} // namespace foretrain::experiments
