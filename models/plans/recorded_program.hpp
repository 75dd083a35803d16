// A recorded step with its collectives as a work program: every rank runs a recorded line of
// pieces, collectives begin when all ranks of their group have come to them.
#pragma once

#include "models/training/measured.hpp"
#include "sim/workload/program.hpp"

#include <string>

namespace foretrain::models {

struct RecordedJob {
  std::string name;
  int ranks = 1;
  double batch = 1;      // samples per rank over those that were recorded
  DeviceRatios ratios{}; // of the job's device to the recorded one
  Seconds launch{};      // what the host layer adds to each launch
};

/// Why the exchanges cannot run on so many ranks; "" where they can.
std::string problem_with_ranks(const MeasuredSpec& measured, int ranks);

/// Rank r runs line r modulo their number. Kernels are scaled as measured_profile does; idle time
/// and what the recorded rank waited for others stay as they were. `measured` must have lines and
/// pass check_exchanges; throws std::logic_error where problem_with_ranks has something to say.
sim::Program recorded_program(const MeasuredSpec& measured, const RecordedJob& job);

} // namespace foretrain::models
