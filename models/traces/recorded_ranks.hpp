// A recorded step of one or of several ranks with its collectives, as a model file holds it.
#pragma once

#include "models/traces/recorded_exchanges.hpp"
#include "models/traces/recorded_timeline.hpp"
#include "sim/base/document.hpp"

#include <string>
#include <vector>

namespace foretrain::models {

/// What is kept of one rank's recording while those of others are read.
struct RecordedRank {
  std::string file;
  int rank = 0;
  int world = 0;
  std::string step;             // its name
  double start = 0, finish = 0; // of the step
  bool followed = false;        // by another step, which gives its length exactly
  std::vector<RecordedExchange> exchanges;
  MeasuredLine line;
  std::vector<std::string> notes;
};

/// Of the step of that name; of the typical one where there is none.
RecordedRank recorded_rank(const Trace& trace, const Steps& steps, const std::string& step = "");

/// Writes "exchanges" and "lines" into a model's "measured" part; with several ranks "step" too,
/// from the last rank's beginning to the last one's end: clocks are set by the ends of exchanges,
/// which are the same on every rank. A rank alone keeps what it waited for others; of several,
/// waiting follows from their lines. Throws ConfigError when ranks did not exchange the same.
void add_exchanges(const std::vector<RecordedRank>& ranks, Json& measured,
                   std::vector<std::string>& notes);

} // namespace foretrain::models
