#include "experiments/validate/suite_plan.hpp"

#include "calibration/fits.hpp"
#include "experiments/run/simulate/nccl_tests.hpp"
#include "sim/base/catalog.hpp"
#include "sim/base/error.hpp"
#include "sim/base/file_name.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

double median_of(std::vector<double> values)
{
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

double deviation_of(const std::vector<double>& values)
{
  const double n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double squares = 0;
  for (const double value : values)
    squares += (value - mean) * (value - mean);
  return n > 1 ? std::sqrt(squares / (n - 1)) : 0;
}

// Whether a row contradicts its table: it takes over kDisturbed times as long as a call of at least
// four times its bytes. That is no matter of algorithms, which a library changes for shorter calls.
bool disturbed(const SuiteTable& table, std::size_t row)
{
  constexpr double kDisturbed = 1.5;
  const auto time = [&](const std::vector<double>& it) {
    return table.quantity == "time" ? it[1] : it[0] / it[1];
  };
  const std::vector<double>& own = table.rows[row];
  return std::any_of(table.rows.begin(), table.rows.end(), [&](const std::vector<double>& other) {
    return other[0] >= 4 * own[0] && time(own) > kDisturbed * time(other);
  });
}

RowRole role_of(const SuiteTable& table, std::size_t row)
{
  const auto& fitted = table.calibration_bytes;
  if (std::find(fitted.begin(), fitted.end(), table.rows[row][0]) != fitted.end())
    return RowRole::calibration;
  return disturbed(table, row) ? RowRole::disturbed : RowRole::validation;
}

// Unrolls one suite.
class Unroll {
public:
  Unroll(SuitePlan& plan, std::size_t index, const std::vector<std::string>& profiles)
      : plan_(plan), index_(index), profiles_(profiles), laid_(std::make_shared<Profiles>())
  {
    for (const std::string& name : profiles)
      laid_->add(name);
  }

  void operator()()
  {
    const SuiteSpec& suite = plan_.suites[index_];
    for (std::size_t i = 0; i < suite.rows.size(); ++i)
      add_row(suite.rows[i], suite.origin.at("rows").at(i));
    for (std::size_t i = 0; i < suite.tables.size(); ++i)
      add_table(suite.tables[i], suite.origin.at("tables").at(i));
    for (std::size_t i = 0; i < suite.copies.size(); ++i)
      add_copies(suite.copies[i], suite.origin.at("copies").at(i));
    for (std::size_t i = 0; i < suite.kernels.size(); ++i)
      add_kernels(suite.kernels[i], suite.origin.at("kernels").at(i));
  }

private:
  const SuiteSpec& suite() const { return plan_.suites[index_]; }

  Measurement blank(const std::string& id, const std::string& source) const
  {
    Measurement it;
    it.suite = index_;
    it.id = id;
    it.source = source.empty() ? suite().source : source;
    return it;
  }

  void put(Measurement it, double measured, const std::string& unit)
  {
    it.unit = unit;
    it.measured = measured * measured_unit(unit).si;
    plan_.measurements.push_back(std::move(it));
  }

  void add_row(const SuiteRow& row, const Value& at)
  {
    if (row.measured.has_value() != row.repetitions.empty())
      at.fail("must have either \"measured\" or \"repetitions\"");
    for (std::size_t i = 0; i < row.repetitions.size(); ++i)
      if (!(row.repetitions[i] > 0))
        at.at("repetitions").at(i).fail("must be above 0");
    Measurement it = blank(row.id, row.source);
    it.part = row.part.empty() ? row.experiment : row.part;
    it.regime = row.regime;
    it.role = *choice_of<RowRole>(row.role);
    it.spread =
        (row.spread > 0 ? row.spread : deviation_of(row.repetitions)) * measured_unit(row.unit).si;
    it.group = row.group;
    it.ratio_of = row.ratio_of;
    it.anchor = row.anchor;
    const Point point = point_of(row, at);
    const ExperimentSpec spec = read_point(point);
    const std::size_t job = job_of(row, at, spec);
    if (spec.jobs[job].anchor)
      it.anchor_rate = spec.jobs[job].anchor->samples_per_s;
    it.pointer = fmt::format("/jobs/{}{}", job, row.quantity);
    it.run = run_of(point);
    put(it, row.measured ? *row.measured : median_of(row.repetitions), row.unit);
  }

  // Position of the row's job among those of its experiment.
  static std::size_t job_of(const SuiteRow& row, const Value& at, const ExperimentSpec& spec)
  {
    if (row.quantity.empty() || row.quantity.front() != '/')
      at.at("quantity").fail("must be a JSON pointer below a job's results, like /step_time_s");
    try {
      static_cast<void>(Json::json_pointer(row.quantity));
    } catch (const Json::exception&) {
      at.at("quantity").fail("is not a valid JSON pointer");
    }
    if (!fits(row.quantity, row.unit))
      at.fail_at("unit", "is '" + row.unit + "', which '" + row.quantity + "' is not told in",
                 "rates of samples are in samples/s or images/s, of tokens in tokens/s, of bytes "
                 "in GB/s, MB/s or Gb/s; times in s, ms or us, ratios in x or %");
    return job_named(row.job, spec, at);
  }

  Value base_of(const SuiteRow& row, const Value& at) const
  {
    if (suite().experiments && suite().experiments.json().contains(row.experiment))
      return resolve_preset(suite().experiments.at(row.experiment), kExperimentKind);
    const bool path = row.experiment.find('/') != std::string::npos || is_file_name(row.experiment);
    std::vector<std::string> names = preset_names(kExperimentKind);
    if (!path && std::find(names.begin(), names.end(), row.experiment) == names.end()) {
      if (suite().experiments)
        for (const auto& entry : suite().experiments.json().items())
          names.push_back(entry.key());
      at.at("experiment")
          .fail("is not a known experiment: '" + excerpt(row.experiment) + "'",
                suggestion(row.experiment, names, "experiments") + " (or give a path)");
    }
    return resolve_preset(at.at("experiment"), kExperimentKind);
  }

  Point point_of(const SuiteRow& row, const Value& at) const
  {
    auto document = own_document(base_of(row, at));
    if (document->root.is_object())
      document->root.erase("expect");
    const std::string origin = "row " + row.id;
    Settings settings;
    if (row.settings) {
      if (!row.settings.json().is_object())
        row.settings.fail("must be an object of JSON pointers and values, got " +
                          row.settings.shown());
      for (const auto& entry : row.settings.json().items()) {
        set_in_experiment(*document, entry.key(), entry.value(), origin);
        settings.emplace_back(entry.key(), entry.value());
      }
    }
    if (!row.anchor.empty())
      set_value(*document, "/jobs/0/anchor", {{"samples_per_s", anchor_rate(row, at)}}, origin);
    return single_point(std::move(document), std::move(settings), profiles_);
  }

  double anchor_rate(const SuiteRow& row, const Value& at) const
  {
    std::vector<std::string> ids;
    for (const SuiteRow& other : suite().rows) {
      ids.push_back(other.id);
      if (other.id != row.anchor)
        continue;
      if (other.role != "calibration")
        at.at("anchor").fail("'" + row.anchor + "' is a validation row: a measurement that a " +
                                 "prediction starts from can't be counted",
                             "give that row \"role\": \"calibration\"");
      if (other.quantity != "/throughput_samples_per_s")
        at.at("anchor").fail("'" + row.anchor + "' is not a rate of samples");
      return other.measured ? *other.measured : median_of(other.repetitions);
    }
    at.at("anchor").fail("is not a row of this suite: '" + excerpt(row.anchor) + "'",
                         suggestion(row.anchor, ids, "rows"));
  }

  // Rows on the same experiment share its run.
  std::size_t run_of(const Point& point)
  {
    const auto [it, added] = runs_.emplace(point.document->root.dump(), plan_.runs.size());
    if (added)
      plan_.runs.push_back(point_run(point));
    return it->second;
  }

  void add_table(const SuiteTable& table, const Value& at)
  {
    for (std::size_t i = 0; i < table.rows.size(); ++i)
      if (table.rows[i].size() != 2 || !(table.rows[i][0] > 0) || !(table.rows[i][1] > 0))
        at.at("rows").at(i).fail("must be [bytes, measured value], both positive");
    if ((table.unit == "GB/s") != (table.quantity == "bus_bandwidth"))
      at.fail_at("unit", "does not fit the quantity '" + table.quantity + "'");
    const std::size_t run = plan_.runs.size();
    plan_.runs.push_back(table_run(table, at, laid_));
    const double bus_bytes =
        find_nccl_test(table.program)->bus_factor(table.nodes * table.gpus_per_node);
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
      const double bytes = table.rows[i][0];
      Measurement it = blank(fmt::format("{}-{:.0f}", table.id, bytes), table.source);
      it.part = table.id + (bytes > 1 << 20 ? ", above 1 MiB" : ", up to 1 MiB");
      it.regime = table.regime;
      it.role = role_of(table, i);
      if (!table.group.empty())
        it.group = fmt::format("{}, {:.0f} B", table.group, bytes);
      it.run = run;
      it.pointer = fmt::format("/{}", i);
      if (table.quantity == "time")
        put(it, table.rows[i][1], table.unit);
      else
        put(it, 1e6 * bus_bytes * bytes / (table.rows[i][1] * measured_unit(table.unit).si), "us");
    }
  }

  void add_copies(const SuiteCopies& copies, const Value& at)
  {
    const auto gpus =
        static_cast<std::size_t>(platforms::load_platform(copies.platform).gpus_per_node());
    const bool square = copies.matrix.size() == gpus &&
                        std::all_of(copies.matrix.begin(), copies.matrix.end(),
                                    [&](const auto& line) { return line.size() == gpus; });
    if (!square)
      at.at("matrix").fail(fmt::format("must be {0} x {0}: the platform has {0} GPUs", gpus));
    if ((copies.unit == "us") != (copies.quantity == "latency"))
      at.fail_at("unit", "does not fit the quantity '" + copies.quantity + "'");
    const std::size_t run = plan_.runs.size();
    plan_.runs.push_back(copies_run(copies));
    for (std::size_t i = 0; i < gpus; ++i)
      for (std::size_t j = 0; j < gpus; ++j) {
        if (!(copies.matrix[i][j] > 0))
          at.at("matrix").at(i).at(j).fail("must be above 0");
        Measurement it = blank(fmt::format("{}-{}{}", copies.id, i, j), copies.source);
        it.part = copies.id + (i == j ? ", inside a device" : "");
        it.regime = i == j ? "compute" : "intra-node";
        it.role = *choice_of<RowRole>(copies.role);
        it.run = run;
        it.pointer = fmt::format("/{}/{}", i, j);
        put(it, copies.matrix[i][j], copies.unit);
      }
  }

  void add_kernels(const SuiteKernels& kernels, const Value& at)
  {
    const std::size_t run = plan_.runs.size();
    plan_.runs.push_back(
        [compute = kernels_run(kernels, at)](const RunOptions&) { return compute(); });
    std::size_t i = 0;
    for (const auto* rows : {&kernels.rows, &kernels.held_out})
      for (const auto& row : *rows) {
        Measurement it = blank(kernels.id + "-" + shape_of(row), kernels.source);
        it.part = kernels.id;
        it.regime = "compute";
        it.role = rows == &kernels.rows ? RowRole::calibration : RowRole::validation;
        it.run = run;
        it.pointer = fmt::format("/{}", i++);
        put(it, row.back(), "us");
      }
  }

  SuitePlan& plan_;
  std::size_t index_;
  const std::vector<std::string>& profiles_;
  std::shared_ptr<Profiles> laid_;          // the same, read
  std::map<std::string, std::size_t> runs_; // experiment -> run
};

[[noreturn]] void refuse(const SuitePlan& plan, const Measurement& it, const std::string& problem,
                         const std::string& hint)
{
  plan.suites[it.suite].origin.fail("row '" + it.id + "' " + problem, hint);
}

void check_ids(const SuitePlan& plan)
{
  std::map<std::pair<std::size_t, std::string>, const Measurement*> by_id;
  for (const Measurement& it : plan.measurements)
    if (!by_id.emplace(std::pair{it.suite, it.id}, &it).second)
      refuse(plan, it, "is there twice", "every row needs an id of its own");
  for (const Measurement& it : plan.measurements) {
    if (it.ratio_of.empty())
      continue;
    const auto other = by_id.find({it.suite, it.ratio_of});
    if (other == by_id.end())
      refuse(plan, it, "is a ratio of '" + excerpt(it.ratio_of) + "', which is not there", "");
    if (other->second == &it)
      refuse(plan, it, "is a ratio of itself", "name the row that it is compared with");
    if (other->second->unit != it.unit)
      refuse(plan, it, "has another unit than '" + it.ratio_of + "', which it is a ratio of", "");
  }
}

// What a fit or an anchor has used can't be counted, in any suite.
void check_disjoint(const SuitePlan& plan)
{
  const auto fits = calibration::load_fits();
  std::map<std::string, const Measurement*> anchors;
  std::map<double, const Measurement*> rates;
  for (const Measurement& it : plan.measurements) {
    if (!it.anchor.empty())
      anchors.emplace(it.anchor, &it);
    else if (it.anchor_rate > 0) // written into the experiment
      rates.emplace(it.anchor_rate, &it);
  }
  for (const Measurement& it : plan.measurements) {
    if (it.role == RowRole::calibration)
      continue;
    if (const auto* fit = calibration::fit_of(fits, it.id))
      refuse(plan, it, "was used to fit " + fit->parameters + " (" + joined(fit->files) + ")",
             "a row that a fit has seen can't be counted: give it \"role\": \"calibration\"");
    if (const auto anchor = anchors.find(it.id); anchor != anchors.end())
      refuse(plan, it, "is the anchor of row '" + anchor->second->id + "'",
             "a row that a prediction starts from can't be counted");
    const bool rate = measured_unit(it.unit).si == 1 && it.pointer.ends_with("samples_per_s");
    if (const auto from = rates.find(it.measured); rate && from != rates.end())
      refuse(plan, it, "is, by its value, the anchor of row '" + from->second->id + "'",
             "a row that a prediction starts from can't be counted");
  }
}

} // namespace

SuitePlan plan_suites(std::vector<SuiteSpec> suites, const std::string& only,
                      const std::vector<std::string>& profiles)
{
  SuitePlan plan;
  plan.suites = std::move(suites);
  for (std::size_t i = 0; i < plan.suites.size(); ++i)
    Unroll(plan, i, profiles)();
  check_ids(plan);
  check_disjoint(plan);
  if (!only.empty())
    std::erase_if(plan.measurements,
                  [&](const Measurement& it) { return !calibration::matches(only, it.id); });
  return plan;
}

} // namespace foretrain::experiments
