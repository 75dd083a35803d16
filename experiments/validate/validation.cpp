#include "experiments/validate/validation.hpp"

#include "experiments/run/workers.hpp"
#include "sim/base/error.hpp"
#include "sim/base/json_text.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

// Measured values nearer to each other than this are no order to predict.
constexpr double kTie = 0.01;

void count(ErrorSummary& summary, double error, const std::string& id)
{
  summary.rows += 1;
  summary.mean += std::abs(error);
  summary.bias += error;
  if (std::abs(error) > summary.maximum || summary.worst.empty()) {
    summary.maximum = std::abs(error);
    summary.worst = id;
  }
}

void close(ErrorSummary& summary)
{
  if (summary.rows == 0)
    return;
  summary.mean /= summary.rows;
  summary.bias /= summary.rows;
}

// A row and what the prediction of another one is divided by or compared to.
struct Reference {
  const Comparison* row = nullptr;
  double predicted = 0;
};

// The row that `it` is divided by. What a prediction starts from is predicted as it was measured.
std::optional<Reference> divisor(const Comparison& it, const Comparison* over)
{
  if (over == nullptr || !over->problem.empty())
    return std::nullopt;
  return Reference{over, it.row.anchor == over->row.id ? over->row.measured : over->predicted};
}

void count_pair(Summary& summary, const Comparison& a, const Reference& b)
{
  const double apart = a.row.measured - b.row->row.measured;
  const double tie = std::max(kTie * std::max(a.row.measured, b.row->row.measured),
                              std::hypot(a.row.spread, b.row->row.spread));
  if (std::abs(apart) <= tie)
    return;
  summary.pairs += 1;
  summary.right_pairs += apart * (a.predicted - b.predicted) > 0 ? 1 : 0;
}

// Whether the job that a pointer like /jobs/0/step_time_s is about fits in device memory, if told.
std::optional<bool> fits_at(const Json& result, const std::string& pointer)
{
  const Json::json_pointer job(pointer.substr(0, pointer.find('/', pointer.find('/', 1) + 1)));
  const Json::json_pointer told = job / "fits";
  if (!result.contains(told) || !result.at(told).is_boolean())
    return std::nullopt;
  return result.at(told).get<bool>();
}

// What a run has for the measurements that point into it.
Json picked(const SuitePlan& plan, const std::vector<std::size_t>& measurements, const Json& result)
{
  Json picked = Json::array();
  for (const std::size_t i : measurements) {
    const std::string& pointer = plan.measurements[i].pointer;
    const auto value = number_at(result, pointer.c_str());
    if (!value) {
      picked.push_back({{"problem", "there is no number at " + pointer + " of the result"}});
      continue;
    }
    picked.push_back({{"value", *value},
                      {"low", number_at(result, (pointer + "/low").c_str()).value_or(*value)},
                      {"high", number_at(result, (pointer + "/high").c_str()).value_or(*value)}});
    if (const auto fits = fits_at(result, pointer))
      picked.back()["fits"] = *fits;
  }
  return picked;
}

Outcome run_piece(const SuitePlan& plan, std::size_t run,
                  const std::vector<std::size_t>& measurements, const RunOptions& options)
{
  try {
    return {0, picked(plan, measurements, plan.runs[run](options)).dump()};
  } catch (const ConfigError& error) {
    return {2, error.what()};
  } catch (const UsageError& error) {
    return {2, error.what()};
  } catch (const std::exception& error) {
    return {3,
            fmt::format("internal error: {}; please report it with the input files", error.what())};
  }
}

void take(Comparison& comparison, const Json& value)
{
  if (value.contains("problem")) {
    comparison.problem = value.at("problem").get<std::string>();
    comparison.status = 2;
    return;
  }
  comparison.predicted = value.at("value").get<double>();
  comparison.low = value.at("low").get<double>();
  comparison.high = value.at("high").get<double>();
  if (value.contains("fits"))
    comparison.fits = value.at("fits").get<bool>();
}

} // namespace

Summary summarise(const std::vector<const Comparison*>& rows, const std::vector<Comparison>& all)
{
  std::map<std::pair<std::size_t, std::string>, const Comparison*> by_id;
  for (const Comparison& it : all)
    by_id.emplace(std::pair{it.row.suite, it.row.id}, &it);
  Summary summary;
  std::map<std::pair<std::size_t, std::string>, std::vector<const Comparison*>> groups;
  for (const Comparison* it : rows) {
    if (!it->problem.empty())
      continue;
    count(summary.errors, it->error(), it->row.id);
    const auto found = by_id.find({it->row.suite, it->row.ratio_of});
    if (const auto over = divisor(*it, found == by_id.end() ? nullptr : found->second)) {
      count(summary.ratios, (1 + it->error()) / (over->predicted / over->row->row.measured) - 1,
            it->row.id);
      if (it->row.group.empty() || it->row.group != over->row->row.group)
        count_pair(summary, *it, *over);
    }
    if (it->has_interval()) {
      summary.intervals += 1;
      summary.covered += it->covered() ? 1 : 0;
    }
    if (!it->row.group.empty())
      groups[{it->row.suite, it->row.group}].push_back(it);
  }
  close(summary.errors);
  close(summary.ratios);
  for (const auto& [name, members] : groups)
    for (std::size_t i = 0; i < members.size(); ++i)
      for (std::size_t k = 0; k < i; ++k)
        count_pair(summary, *members[i], {members[k], members[k]->predicted});
  return summary;
}

std::optional<std::vector<Comparison>>
compare(const SuitePlan& plan, const RunOptions& options, int jobs,
        const std::function<void(int, int)>& progress,
        const std::function<void(const Comparison&)>& finished)
{
  std::vector<Comparison> comparisons(plan.measurements.size());
  std::vector<std::vector<std::size_t>> wanted(plan.runs.size()); // by run
  for (std::size_t i = 0; i < plan.measurements.size(); ++i) {
    comparisons[i].row = plan.measurements[i];
    wanted[plan.measurements[i].run].push_back(i);
  }
  std::vector<std::size_t> needed;
  for (std::size_t run = 0; run < wanted.size(); ++run)
    if (!wanted[run].empty())
      needed.push_back(run);
  const int total = static_cast<int>(needed.size());
  int ended = 0;
  const auto work = [&](int i) {
    const std::size_t run = needed[static_cast<std::size_t>(i)];
    return run_piece(plan, run, wanted[run], options);
  };
  const auto done = [&](int i, const Outcome& outcome) {
    const auto& mine = wanted[needed[static_cast<std::size_t>(i)]];
    const Json values = outcome.status == 0 ? Json::parse(outcome.text) : Json();
    for (std::size_t k = 0; k < mine.size(); ++k) {
      Comparison& comparison = comparisons[mine[k]];
      if (outcome.status == 0) {
        take(comparison, values[k]);
      } else {
        comparison.problem = outcome.text;
        comparison.status = outcome.status;
      }
      finished(comparison);
    }
    progress(++ended, total);
  };
  if (!run_workers(total, jobs, work, done))
    return std::nullopt;
  return comparisons;
}

} // namespace foretrain::experiments
