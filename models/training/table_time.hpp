// What one GPU does in a step for embedding tables that ranks divide among themselves.
#pragma once

#include "models/networks/network.hpp"
#include "models/training/device.hpp"
#include "models/training/layer_times.hpp"

namespace foretrain::models {

/// Of a layer that looks up, by the plan of the framework; none without one.
std::optional<TableShare> share_of(const Layer& layer, const Device& device);

/// Rows are single precision. Backward adds each sample's gradient to the rows that it looked up,
/// and updates these alone.
LayerTime table_time(const Layer& layer, int batch, const Device& device);

} // namespace foretrain::models
