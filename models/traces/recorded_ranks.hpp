// A recorded step of one or of several ranks with its collectives, as a model file holds it.
#pragma once

#include "models/traces/recorded_rank.hpp"
#include "sim/base/document.hpp"

#include <string>
#include <vector>

namespace foretrain::models {

/// Writes "exchanges" and "lines" into a model's "measured" part; with several ranks "step" too,
/// from the last rank's beginning to the last one's end: clocks are set by the ends of exchanges,
/// which are the same on every rank. A rank alone keeps what it waited for others; of several,
/// waiting follows from their lines. Sends are among the exchanges where both of their ranks were
/// recorded; else they stay idle time. Throws ConfigError when ranks did not exchange the same.
void add_exchanges(const std::vector<RecordedRank>& ranks, Json& measured,
                   std::vector<std::string>& notes);

} // namespace foretrain::models
