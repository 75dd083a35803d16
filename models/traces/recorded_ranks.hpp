// A recorded step of one or of several ranks with its collectives, as a model file holds it.
#pragma once

#include "models/traces/recorded_exchanges.hpp"
#include "models/traces/recorded_timeline.hpp"
#include "sim/base/document.hpp"

#include <string>
#include <vector>

namespace foretrain::models {

/// A line of pieces, and the exchanges that it names.
struct RecordedLine {
  std::vector<RecordedExchange> exchanges;
  MeasuredLine line;
  std::vector<std::string> notes;
};

/// What is kept of one rank's recording while those of others are read.
struct RecordedRank {
  std::string file;
  int rank = 0;
  int world = 0;
  std::string step;             // its name
  double start = 0, finish = 0; // of the step
  bool followed = false;        // by another step, which gives its length exactly
  RecordedLine alone;           // sends to other ranks left out: idle time
  RecordedLine with_sends;      // the same where the rank sends nothing
  bool sends = false;           // or receives, and says what and from whom
};

/// Of the step of that name; of the typical one where there is none.
RecordedRank recorded_rank(const Trace& trace, const Steps& steps, const std::string& step = "");

/// Writes "exchanges" and "lines" into a model's "measured" part; with several ranks "step" too,
/// from the last rank's beginning to the last one's end: clocks are set by the ends of exchanges,
/// which are the same on every rank. A rank alone keeps what it waited for others; of several,
/// waiting follows from their lines. Sends are among the exchanges where both of their ranks were
/// recorded; else they stay idle time. Throws ConfigError when ranks did not exchange the same.
void add_exchanges(const std::vector<RecordedRank>& ranks, Json& measured,
                   std::vector<std::string>& notes);

} // namespace foretrain::models
