// What one rank did in a recorded step: its exchanges, and its line of pieces between them.
#pragma once

#include "models/traces/recorded_exchanges.hpp"
#include "models/traces/recorded_timeline.hpp"

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

} // namespace foretrain::models
