#include "models/training/table_exchange.hpp"

namespace foretrain::models {

std::vector<TableExchange> table_exchanges(const Network& network, const ComputeProfile& profile,
                                           int batch, int bytes_per_element)
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
          Bytes(static_cast<double>(layer.exchanged_elements) * batch * bytes_per_element);
      exchange.looked_up = forward;
      exchange.gradients_needed = backward - passed;
    }
  }
  return exchanges;
}

} // namespace foretrain::models
