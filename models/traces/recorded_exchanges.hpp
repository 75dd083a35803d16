// Collectives of a recorded step that can be simulated anew: what they move, when they could begin
// on this rank, and how long they only waited for other ranks.
#pragma once

#include "models/traces/seen_collective.hpp"
#include "models/traces/steps.hpp"

#include <string>
#include <vector>

namespace foretrain::models {

struct RecordedExchange {
  std::string kind; // as MeasuredExchange knows it
  double bytes = 0;
  int from = -1, to = -1;   // ranks of a send
  std::vector<int> members; // ranks of a collective; empty: not told
  int group = 0;            // 0: not told, or all ranks
  int stride = 1;
  int stream = 0;
  TrainingPhase phase = TrainingPhase::forward;
  double launched = 0; // host time
  double released = 0; // what it waits for on this rank has ended
  double start = 0, finish = 0;
  double waited = 0; // of its time, for other ranks
};

struct RecordedExchanges {
  std::vector<RecordedExchange> list; // as they were released; those of a stream as they ran
  std::vector<std::string> notes;     // on what can't be simulated
};

enum class Sends { left_out, taken };

/// Those of a step. Collectives of unknown size and of one rank are left out, and told in the
/// notes; so are sends to one rank, unless they are to be taken and say to which.
RecordedExchanges find_exchanges(const Trace& trace, const TraceStep& step,
                                 Sends sends = Sends::left_out);

/// Whether a kernel is among them.
bool is_simulated(const Trace& trace, const DeviceWork& work, Sends sends);

/// Sets `waited` of each exchange of a step. Moving its bytes needs no longer than the shortest of
/// its like in any step, nor than the best rate of the recording allows; beyond that its rank
/// waited for others, or kernels beside it held it up.
void tell_waiting(const Trace& trace, const Steps& steps, RecordedExchanges& exchanges);

} // namespace foretrain::models
