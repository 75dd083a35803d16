// A fleet's run as a timeline in Chrome's trace format, for Perfetto (ui.perfetto.dev).
#pragma once

#include "experiments/fleet/fleet.hpp"

#include <cstddef>
#include <string>

namespace foretrain::experiments {

/// A timeline of more pieces is too large for a browser.
inline constexpr std::size_t kMostTimelinePieces = 300'000;

/// Pieces that a run's timeline has: jobs on nodes, nodes down, moments of the queue. Overheads of
/// jobs come on top, where there is room.
std::size_t timeline_pieces(const FleetRun& run);

/// A process for each node with a thread for each of its GPUs; a job stands on the first GPU that
/// it holds there, with what it did other than work; "waits" is one that waits for the rest of its
/// GPUs. Nodes that are down have a thread of their own. Counters: GPUs held and down, jobs that
/// wait. Times are from the first submission. Of a run with its history.
std::string fleet_timeline(const FleetRun& run, int gpus_per_node);

} // namespace foretrain::experiments
