#include "models/fleet/job.hpp"

#include <array>

namespace foretrain::models::fleet {

const char* text_of(Cause cause)
{
  constexpr std::array words{"",      "gpus",    "fragmentation", "quota",       "order",
                             "guard", "failure", "maintenance",   "reservation", "depth"};
  return words[static_cast<std::size_t>(cause)];
}

const char* text_of(JobState state)
{
  constexpr std::array words{"completed", "timeout", "rejected", "waiting", "running"};
  return words[static_cast<std::size_t>(state)];
}

} // namespace foretrain::models::fleet
