// The commands' answers (JSON) as the structs of foretrain.hpp.
#pragma once

#include "experiments/api/foretrain.hpp"
#include "sim/base/json.hpp"

namespace foretrain::api {

/// All of these keep the JSON too, as the command prints it.
Answer read_prediction(const Json& answer, int status);
Explanation read_explanation(const Json& answer);
Comparison read_comparison(const Json& answer);
Check read_check(const Json& answer);
Tuned read_tuned(const Json& answer);
PlanAnswer read_plan(const Json& answer);
/// Of a fleet with a sweep, or of one.
FleetAnswer read_fleet(const Json& answer);

} // namespace foretrain::api
