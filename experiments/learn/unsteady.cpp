#include "experiments/learn/unsteady.hpp"

#include "experiments/learn/calibrate_training.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

using calibration::TrainingRecord;

constexpr double kSteady = 1.05; // the records of two steady machines agree within 2.4 %

// Seconds of a sample and block.
double pace_of(const TrainingRecord& record)
{
  return record.functions_s / (record.batch * record.model.value("depth", 1));
}

// All of the model but its depth, by which runs do the same in each block.
std::string kind_of(const TrainingRecord& record)
{
  Json model = record.model;
  model.erase("depth");
  return model.dump();
}

void slow_down(TrainingRecord& record, double factor)
{
  for (double& rate : record.throughput)
    rate /= factor;
  for (double& step : record.step_s)
    step *= factor;
  for (auto& [part, seconds] : record.parts)
    seconds *= factor;
  record.functions_s *= factor;
}

} // namespace

std::vector<std::string> to_one_speed(std::vector<TrainingRecord>& records)
{
  std::map<std::string, std::vector<TrainingRecord*>> kinds;
  for (TrainingRecord& record : records)
    if (record.functions_s > 0)
      kinds[kind_of(record)].push_back(&record);
  std::vector<std::string> notes;
  for (const auto& [kind, runs] : kinds) {
    const auto slower = [](const TrainingRecord* a, const TrainingRecord* b) {
      return pace_of(*a) < pace_of(*b);
    };
    const auto [quick, slow] = std::minmax_element(runs.begin(), runs.end(), slower);
    const double apart = pace_of(**slow) / pace_of(**quick);
    if (apart <= kSteady)
      continue;
    notes.push_back(fmt::format(
        "the machine was not equally fast: at its quickest, the same gelu took {:.0f} % longer in "
        "{} than in {}. Times of these runs are brought to the median speed; better measure them "
        "again, with nothing else running",
        100 * (apart - 1), (*slow)->name, (*quick)->name));
    std::vector<double> paces;
    for (const TrainingRecord* run : runs)
      paces.push_back(pace_of(*run));
    const double median = median_of(paces);
    for (TrainingRecord* run : runs)
      slow_down(*run, median / pace_of(*run));
  }
  return notes;
}

} // namespace foretrain::experiments
