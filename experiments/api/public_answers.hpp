// Answers as the structs of foretrain.hpp, which know none of ours; each with its JSON, as the
// command prints it.
#pragma once

#include "experiments/answers/check.hpp"
#include "experiments/answers/compare.hpp"
#include "experiments/answers/explain.hpp"
#include "experiments/answers/plan_answer.hpp"
#include "experiments/answers/predict.hpp"
#include "experiments/answers/tune.hpp"
#include "experiments/api/foretrain.hpp"
#include "experiments/fleet/fleet_points.hpp"

namespace foretrain::api {

Answer public_answer(const experiments::Prediction& prediction);
Explanation public_answer(const experiments::Explanation& answer);
Comparison public_answer(const experiments::CompareAnswer& answer);
Check public_answer(const experiments::CheckedFile& checked);
Tuned public_answer(const experiments::TuneAnswer& answer);
PlanAnswer public_answer(const experiments::PlanAnswer& answer);
FleetAnswer public_answer(const experiments::FleetSweepAnswer& answer);
FleetAnswer public_answer(const experiments::FleetAnswer& answer);

} // namespace foretrain::api
