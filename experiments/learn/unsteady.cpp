#include "experiments/learn/unsteady.hpp"

#include <map>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

constexpr double kSteady = 1.05; // the records of two steady machines agree within 2.4 %

} // namespace

std::vector<std::string> unsteady(const std::vector<calibration::TrainingRecord>& records)
{
  // Seconds of a sample and block, and whose; by all of the model but its depth.
  std::map<std::string, std::map<double, std::string>> speeds;
  for (const auto& record : records) {
    if (record.functions_s <= 0)
      continue;
    Json model = record.model;
    const double blocks = model.value("depth", 1);
    model.erase("depth");
    speeds[model.dump()].emplace(record.functions_s / (record.batch * blocks), record.name);
  }
  std::vector<std::string> notes;
  for (const auto& [model, runs] : speeds) {
    const auto& [quick, quickest] = *runs.begin();
    const auto& [slow, slowest] = *runs.rbegin();
    if (slow > kSteady * quick)
      notes.push_back(fmt::format(
          "the machine was not equally fast: at its quickest, the same gelu took {:.0f} "
          "% longer in {} than in {}. No profile follows both; measure them again, "
          "with nothing else running",
          100 * (slow / quick - 1), slowest, quickest));
  }
  return notes;
}

} // namespace foretrain::experiments
