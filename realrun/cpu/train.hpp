// Verbs of the CPU twin.
#pragma once

#include "realrun/common/cli.hpp"

namespace foretrain::realrun {

/// train MODEL.json: writes a record of kind "training", or checks gradients.
int train_on_cpu(const CommandLine& line);

/// micro gemm|elementwise|copy|all-reduce|input: writes a record of that kind.
int micro_on_cpu(const CommandLine& line);

} // namespace foretrain::realrun
