// What happens next in a simulated cluster.
#pragma once

#include "sim/base/units.hpp"

#include <cstdint>
#include <queue>
#include <vector>

namespace foretrain::models::fleet {

/// In the order in which what has one time happens.
enum class Happens : std::uint8_t {
  finish,
  kill,
  data_read,
  turn,
  give_up,
  repair,
  spare,
  outage,
  open,
  close,
  quantum,
  reservation
};

struct Event {
  Seconds time;
  Happens what;
  std::uint32_t subject; // a job, an outage, a spare that starts, a window, or nothing
  std::uint32_t version; // of the job, or of the start; others are out of date
};

struct Later {
  bool operator()(const Event& a, const Event& b) const
  {
    if (a.time != b.time)
      return a.time > b.time;
    return a.what != b.what ? a.what > b.what : a.subject > b.subject;
  }
};

using Events = std::priority_queue<Event, std::vector<Event>, Later>;

} // namespace foretrain::models::fleet
