// Spans of what happened when, for timelines. Whoever may be traced holds a pointer that is null
// when tracing is off, so that off costs one comparison.
#pragma once

#include "sim/base/units.hpp"

#include <string>
#include <utility>
#include <vector>

namespace foretrain::sim {

struct Span {
  std::string process; // "train gpu 3"
  std::string thread;  // "compute", "communication", "input"
  std::string name;
  std::string category;
  Seconds start;
  Seconds finish;
  std::vector<std::pair<std::string, std::string>> details;
};

struct Trace {
  std::vector<Span> spans;
};

} // namespace foretrain::sim
