// Writes the program of a transformer's job for its place on the machine.
#pragma once

#include "experiments/spec/resolved.hpp"
#include "models/plans/divided.hpp"

namespace foretrain::experiments {

/// What a program is written for.
enum class PlanFor {
  evaluation, // groups need no members: what exchanges take is known
  simulation, // beside other jobs: groups list those of their sets that these can meet
  people,     // groups list the sets that share a way with each other
};

models::DividedPlan write_plan(const ResolvedExperiment& experiment, std::size_t job,
                               models::Fidelity fidelity, PlanFor use);

} // namespace foretrain::experiments
