// What a training run of either engine has in common: how many steps, what is recorded, how the
// ranks' samples come together in one record.
#pragma once

#include "realrun/common/model.hpp"
#include "realrun/common/record.hpp"
#include "realrun/common/recorder.hpp"
#include "realrun/common/settings.hpp"
#include "realrun/common/world.hpp"

#include <functional>
#include <span>

namespace foretrain::realrun {

/// Steps that fill settings.seconds given the times of the warm-up steps; rank 0's answer, for all.
int agree_on_steps(World& world, const Settings& settings, std::span<const double> warmup_s);

/// What one step took, and the loss it found.
struct StepDone {
  double seconds = 0;
  double loss = 0;
};

/// One repetition: warm-up, then as many steps as all ranks agree on. `step` takes one and records
/// its parts where it is given a recorder (not in the warm-up); throughput, number of steps and
/// core time per step are added here.
void run_repetition(World& world, const Settings& settings, Recorder& recorder,
                    const std::function<StepDone(Recorder*)>& step);

/// A record of kind "training" with model, settings and labels filled in.
Record begin_training_record(const CommandLine& line, const Model& model, const Program& program,
                             const char* program_name);

/// Rank 0 collects the other ranks' unlabelled series (with a label "rank") and writes the record.
void finish_training_record(World& world, const CommandLine& line, Record record,
                            Recorder& recorder, double started_s);

/// Compares gradients; prints the verdict on rank 0 and returns 0 (agree) or 1.
int compare_gradients(World& world, std::span<const float> ranks, std::span<const float> alone,
                      double tolerance);

} // namespace foretrain::realrun
