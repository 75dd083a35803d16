// A work program as JSON, whole: what `foretrain program show --format json` prints.
#pragma once

#include "sim/base/document.hpp"
#include "sim/workload/program.hpp"

namespace foretrain::sim {

/// Ranks, streams, groups, and operations with their edges as "after" (places in the list).
Json to_json(const Program& program);

} // namespace foretrain::sim
