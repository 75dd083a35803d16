#include "models/training/table_exchange.hpp"

#include "models/training/table_time.hpp"

namespace foretrain::models {

namespace {

Bytes gradients(double rows, const Layer& layer, const Device& device)
{
  return Bytes(rows * static_cast<double>(layer.output.features) * device.bytes_per_element);
}

// What a rank sends of the sums that it makes, by the plan of the framework.
void size_by_plan(TableExchange& exchange, const Layer& layer, const TableShare& share, int batch,
                  const Device& device)
{
  const Bytes of_all(static_cast<double>(layer.output.features) * batch * device.ranks *
                     device.bytes_per_element);
  exchange.size = share.mean_shards * of_all;
  exchange.shared = gradients(share.own_rows, layer, device);
  if (device.nodes == 1)
    return;
  exchange.size = (static_cast<double>(device.nodes) / device.ranks) * exchange.size;
  exchange.within = share.shards * of_all;
}

// Rows of some tables go nowhere, as every rank has them.
void keep_frequent(TableExchange& exchange, const Layer& layer, int batch, const Device& device)
{
  const FrequentTables kept = frequent_tables(
      layer.tables, *device.frequent_rows, static_cast<double>(batch) * device.ranks, device.nodes);
  exchange.size = (1 - kept.tables / static_cast<double>(layer.tables.size())) * exchange.size;
  exchange.shared = gradients(kept.rows, layer, device);
}

} // namespace

std::vector<TableExchange> table_exchanges(const Network& network, const ComputeProfile& profile,
                                           int batch, const Device& device)
{
  const Seconds backward = profile.backward();
  std::vector<TableExchange> exchanges;
  std::size_t waiting = 0; // the first that no layer has gathered
  Seconds forward, passed; // of forward before a layer, of backward behind it
  for (std::size_t i = 0; i < network.layers.size(); ++i) {
    const Layer& layer = network.layers[i];
    const LayerTime& time = profile.layers[i];
    for (; layer.gathers && waiting < exchanges.size(); ++waiting) {
      exchanges[waiting].needed = forward;
      exchanges[waiting].gradients_there = backward - passed;
    }
    forward += time.forward;
    passed += time.backward;
    if (layer.exchanged_elements > 0) {
      TableExchange& exchange = exchanges.emplace_back();
      exchange.size =
          Bytes(static_cast<double>(layer.exchanged_elements) * batch * device.bytes_per_element);
      if (const auto share = share_of(layer, device))
        size_by_plan(exchange, layer, *share, batch, device);
      else if (device.frequent_rows && !layer.tables.empty())
        keep_frequent(exchange, layer, batch, device);
      exchange.looked_up = forward;
      exchange.gradients_needed = backward - passed;
    }
  }
  return exchanges;
}

} // namespace foretrain::models
