// Which GPU a log is of.
#pragma once

#include <string>

namespace foretrain::calibration {

/// "A100" of "NVIDIA A100-SXM4-40GB", "RTX 2080" of "GeForce RTX 2080 Ti": the model without maker,
/// form and memory; empty for a name without a model.
std::string gpu_model(const std::string& name);

} // namespace foretrain::calibration
