#include "models/training/table_time.hpp"

namespace foretrain::models {

namespace {

// Bytes read and written for each row that was looked up until what goes into the same row is in
// order: HugeCTR's embedding/operators/index_calculation.cu, indices and places of 4 bytes each.
constexpr Bytes kOrdered{20 +         // indices by table, with place, table and length
                         2 * 8 +      // made unique among tables, and back
                         4 + 4 * 16 + // radix sort: a count, four passes of 8 bits over pairs
                         2 * 16 +     // marks of 8 bytes where an index is new, added up
                         20 +         // which row of the sums each one goes to
                         12};         // read by what adds them up (multi_to_one_reduce_v2.cuh)

// What a rank does for tables in a step.
struct TableWork {
  double lookups; // of rows
  double sums;    // of rows that it makes and sends, and whose gradients come
  double added;   // passes over those of its node that it adds up
};

// Without a plan a rank looks up in its tables for all ranks' samples: as many rows as its own
// samples want of all tables. Of several nodes each GPU has a part of its node's shards: what it
// sums up is a part of each sum, and of its own samples it adds up those of its node.
TableWork table_work(const Layer& layer, int batch, const Device& device)
{
  const std::optional<TableShare> share = share_of(layer, device);
  const auto hidden = static_cast<double>(layer.output.features);
  const double samples = batch;
  if (!share)
    return {samples * static_cast<double>(layer.input_elements) / hidden,
            samples * static_cast<double>(layer.output_elements) / hidden, 0};
  const double all = samples * device.ranks;
  const double on_node = device.nodes > 1 ? static_cast<double>(device.ranks) / device.nodes : 1;
  return {share->lookups * all / on_node + share->own_lookups * samples,
          share->shards * all + share->own_tables * samples,
          device.nodes > 1 ? share->shards * all * (1 + 1 / on_node) : 0};
}

// An optimizer with state needs the sum of what goes into a row before it: gradients are put in
// order of rows, read once for each lookup and added up. Without state each is added as it comes.
Bytes added_up(double lookups, double hidden, const Device& device)
{
  if (device.optimizer.state_bytes_per_parameter <= 0)
    return Bytes(0);
  return lookups * kOrdered + moved(3 * lookups * hidden, device);
}

} // namespace

std::optional<TableShare> share_of(const Layer& layer, const Device& device)
{
  if (!device.tables || device.ranks < 2 || layer.tables.empty())
    return std::nullopt;
  const TablePlacement& rules = *device.tables;
  const Bytes row(static_cast<double>(layer.output.features) *
                  (4 + device.optimizer.state_bytes_per_parameter));
  const bool nodes = device.nodes > 1;
  const double gpus = nodes ? static_cast<double>(device.ranks) / device.nodes : 1;
  return share_of_tables(layer.tables, row, nodes ? device.nodes : device.ranks,
                         nodes ? rules.shard_cost_between : rules.shard_cost, gpus * rules.memory,
                         nodes ? rules.replicated_below_between : rules.replicated_below);
}

LayerTime table_time(const Layer& layer, int batch, const Device& device)
{
  const auto hidden = static_cast<double>(layer.output.features);
  const TableWork work = table_work(layer, batch, device);
  const double rows = 4.0 * work.lookups * hidden;
  const double state = device.optimizer.state_bytes_per_parameter / 4;
  LayerTime time;
  time.forward = device.ordinary({static_cast<double>(batch) * layer.forward_flops,
                                  Bytes(rows) + moved((work.sums + work.added) * hidden, device)});
  time.backward =
      device.ordinary({Flops(0), Bytes(2 * (1 + state) * rows) + moved(work.sums * hidden, device) +
                                     added_up(work.lookups, hidden, device)});
  return time;
}

} // namespace foretrain::models
