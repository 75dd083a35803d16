// The one clock of a run: seconds since an arbitrary start, never going back.
#pragma once

#include <chrono>

namespace foretrain::realrun {

inline double now_s()
{
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

} // namespace foretrain::realrun
