// Recordings of several ranks laid together: which exchange of one rank is which of another.
#pragma once

#include "models/traces/recorded_rank.hpp"

#include <string>
#include <vector>

namespace foretrain::models {

struct JoinedRanks {
  std::vector<MeasuredExchange> exchanges; // none waited for what was not recorded
  std::vector<MeasuredLine> lines;         // of the ranks in their order
  std::vector<double> clocks;              // of each rank, over that of the first one
  std::vector<std::string> notes;
};

/// Of several ranks of a job of `world`. Collectives are matched in their order: by their ranks,
/// where sends are taken or ranks did not run the same ones and the recordings tell which; else all
/// ranks ran the same. Sends are matched in their order for each sender and receiver. Throws
/// ConfigError where something has no match.
JoinedRanks join_ranks(const std::vector<RecordedRank>& ranks, int world);

} // namespace foretrain::models
