// Verbs of the CUDA program.
#pragma once

#include "realrun/common/cli.hpp"

namespace foretrain::realrun {

/// train MODEL.json: writes a record of kind "training", or checks gradients.
int train_on_cuda(const CommandLine& line);

/// micro gemm|elementwise|copy|launch|all-reduce: writes a record of that kind.
int micro_on_cuda(const CommandLine& line);

} // namespace foretrain::realrun
