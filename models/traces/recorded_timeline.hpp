// A recorded step with its collectives as a line of pieces: which kernels had to run before a
// collective could begin, which waited for its end.
#pragma once

#include "models/networks/measured_spec.hpp"
#include "models/traces/recorded_exchanges.hpp"

namespace foretrain::models {

/// Cuts the step at the collectives' beginnings and ends. Time in which the device did nothing is
/// idle time of a piece, unless the next kernel waited for a collective: it was launched before
/// that ended, or its thread was held by the collective's end. A collective that nothing waited for
/// is waited for by the first kernel that was launched after the host's next wait for a stream.
MeasuredLine cut_line(const Trace& trace, const TraceStep& step,
                      const std::vector<RecordedExchange>& exchanges);

/// Of exchanges of all the ranks that were recorded as of them.
std::vector<MeasuredExchange> measured_exchanges(const std::vector<RecordedExchange>& exchanges,
                                                 int world);

} // namespace foretrain::models
