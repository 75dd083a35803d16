// Which GPUs hold which embedding tables, and how much the fullest of them has to do.
//
// HugeCTR (NVIDIA-Merlin/HugeCTR, samples/dlrm/sharding/planner.py and generate_plan.py): tables
// are cut by rows into halves, quarters and so on, the shards, and each is put where least waits
// already. On one node that is a GPU. Of several nodes (hier_auto) it is a node, whose GPUs divide
// each of its shards among themselves: each makes sums of its rows for the samples of all ranks,
// which its node adds up before they go to other nodes. Small tables may lie on every GPU, which
// then looks up for its own samples alone.
#pragma once

#include "models/networks/layer.hpp"
#include "sim/base/schema.hpp"

#include <span>

namespace foretrain::models {

/// What a planner of tables knows.
struct TablePlacement {
  double shard_cost = 0;            // of a GPU of one node, in lookups of a sample
  double shard_cost_between = 0;    // of a node of several
  Bytes replicated_below{};         // on one node smaller tables, with the optimizer's state, are
                                    // on every GPU
  Bytes replicated_below_between{}; // and of several nodes
  Bytes memory{60e9};               // of each GPU, for tables and their state
};

/// Of the place, a GPU or a node, that looks up most; all per sample of the job.
struct TableShare {
  double lookups = 0;     // of rows
  double shards = 0;      // of tables there: sums that it makes
  double mean_shards = 0; // of all places
  double own_lookups = 0; // of tables that every GPU has, for a GPU's own samples
  double own_tables = 0;
  double own_rows = 0; // of these tables
};

/// `places`: GPUs of one node, or nodes. `row`: bytes of a row with the optimizer's state.
/// The plan of least cost among those of ever smaller shards: the fullest place's lookups, and
/// shard_cost for each of its shards.
TableShare share_of_tables(std::span<const TableSize> tables, Bytes row, int places,
                           double shard_cost, Bytes memory, Bytes replicated_below);

template <class V>
void describe(V& v, TablePlacement& s)
{
  v.required("shard_cost", s.shard_cost,
             "lookups of a sample that a GPU of one node would do as soon as hold one more shard",
             non_negative());
  v.required("shard_cost_between", s.shard_cost_between, "the same of a node of several",
             non_negative());
  v.optional("replicated_below", s.replicated_below,
             "on one node: tables that take less, with the optimizer's state, lie on every GPU",
             non_negative());
  v.optional("replicated_below_between", s.replicated_below_between, "the same of several nodes",
             non_negative());
  v.optional("memory", s.memory, "of each GPU, for tables and the optimizer's state", positive());
}

} // namespace foretrain::models
