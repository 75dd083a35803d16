// Rings and trees over GPUs that are joined each to each, as RCCL has them in tables instead of
// searching (rome_models.cc: models of 8 GPUs with 7 links each).
//
// On a circle of m GPUs the zigzag 0, 1, -1, 2, -2, ... goes through all of them. Turned m times,
// and each taken in both directions, it crosses every link equally often in each direction: the
// links are used up, which a search GPU by GPU seldom finds. Inside a node a ring must close: one
// GPU stands in the middle of the circle of the others and joins the ends of the zigzag (Walecki).
// Between nodes a ring is the zigzag itself, from the adapter beside its first GPU to the one
// beside its last.
#pragma once

#include "platforms/collective_graph.hpp"

namespace foretrain::platforms {

/// For a system with mesh_bandwidth(). Every link carries two channels each way.
CollectiveGraph mesh_rings(const SearchSystem& system);
/// The same orders as chains: what goes up one crosses a link that another uses down.
CollectiveGraph mesh_trees(const SearchSystem& system);

} // namespace foretrain::platforms
