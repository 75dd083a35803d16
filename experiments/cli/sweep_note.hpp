// What a sweep writes into its store while it runs: points, and how far it is.
#pragma once

#include "experiments/answers/predict.hpp"
#include "experiments/run/keep/result_store.hpp"

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace foretrain::cli {

/// Writes what is finished ten times a second, and as soon as nothing more is for kQuiet: each
/// time is four writes that wait for the disk, with which small points would spend their time.
class SweepNote {
public:
  SweepNote(experiments::ResultStore& store, const experiments::LoadedExperiment& experiment,
            const experiments::PredictOptions& options);

  /// Takes points from predictions with these options.
  void watch(experiments::PredictOptions& options);
  /// Writes the rest. Interrupted runs have not ended: they stopped.
  void end(const experiments::ExperimentResult& answer);

private:
  using Clock = std::chrono::steady_clock;

  void tell();
  void write_points();
  void write();

  experiments::ResultStore& store_;
  experiments::SweepRun run_;
  experiments::StoredPoint blank_; // what all points have in common
  std::int64_t number_ = 0;
  std::vector<experiments::StoredPoint> points_;             // not yet in the store
  std::vector<std::pair<std::size_t, std::string>> members_; // likewise
  Clock::time_point next_points_ = Clock::now();
  Clock::time_point next_note_ = Clock::now();
};

} // namespace foretrain::cli
