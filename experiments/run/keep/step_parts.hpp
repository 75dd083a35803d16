// The parts of a step's time, which add up to it: in the order in which they are told.
#pragma once

#include "experiments/run/keep/result.hpp"

namespace foretrain::experiments {

struct StepPart {
  const char* key;
  Seconds models::StepTimes::*time;
  const char* doc;
  bool planned = false; // of programs and large models only
};

inline constexpr StepPart kStepParts[] = {
    {"compute", &models::StepTimes::compute,
     "runs kernels of forward pass, backward pass and optimizer"},
    {"exposed_communication", &models::StepTimes::exposed_communication,
     "waits for gradients to be exchanged; what overlaps with computing is not counted. Programs "
     "and recorded jobs: nothing runs but an exchange"},
    {"input_stall", &models::StepTimes::input_stall, "waits for a batch to be read and decoded"},
    {"host_to_device", &models::StepTimes::host_to_device,
     "waits for a batch to be copied to the GPU"},
    {"straggler_wait", &models::StepTimes::straggler_wait, "waits for slower GPUs of the same job"},
    {"framework", &models::StepTimes::framework,
     "waits for host work and coordination of the framework"},
    {"bubble", &models::StepTimes::bubble,
     "programs and large models: waits for other stages of a pipeline", true},
    {"recompute", &models::StepTimes::recompute,
     "programs and large models: computes activations again", true}};

} // namespace foretrain::experiments
