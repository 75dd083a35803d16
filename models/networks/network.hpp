// A neural network as data: its layers in forward order with their cost for one sample.
// File format: docs/networks.md.
#pragma once

#include "models/networks/layer.hpp"
#include "models/networks/measured_spec.hpp"
#include "sim/base/catalog.hpp"

#include <optional>
#include <string>
#include <vector>

namespace foretrain::models {

inline const PresetKind kNetworkKind{"model", "models/data/networks"};

struct Network {
  std::string name;
  std::string samples;                    // what one sample is: "images", "sequences" or "samples"
  std::string dataset;                    // the data set it is usually trained on
  bool dataset_named = false;             // by its file
  std::string optimizer = "sgd-momentum"; // it is usually trained with
  double work_variation = 0; // from batch to batch of one rank: coefficient of variation
  Shape input;
  std::vector<Layer> layers;
  std::optional<MeasuredSpec> measured; // its kernel times, when they were recorded
};

/// Sums over all layers, for one sample where that matters.
struct NetworkTotals {
  std::int64_t parameters = 0;         // that every rank holds
  std::int64_t divided_parameters = 0; // that one rank each holds, of embedding tables
  std::int64_t gradient_tensors = 0;
  Bytes gradient_bytes_fp32;
  double macs = 0.0;
  Flops forward_flops;
  std::int64_t activation_elements = 0; // written by the layers
  std::int64_t state_elements = 0;
};

/// Reads a resolved preset (resolve_preset with kNetworkKind). Throws ConfigError.
Network load_network(const Value& preset);
/// The same by name or path.
Network load_network(const std::string& name_or_path);

NetworkTotals totals(const Network& network);

/// JSON Schema of a network file, every op included.
Json network_schema();

} // namespace foretrain::models
