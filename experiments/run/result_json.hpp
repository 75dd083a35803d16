// Results as JSON: the public contract (docs/results.md).
#pragma once

#include "experiments/run/result.hpp"

namespace foretrain::experiments {

Json to_json(const PointResult& point);
Json settings_json(const Settings& settings);
const char* name_of(models::Fidelity fidelity);

} // namespace foretrain::experiments
