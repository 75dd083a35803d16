// Events of Chrome's trace format as Kineto writes them, which Perfetto and HTA read.
#pragma once

#include "sim/base/document.hpp"
#include "sim/base/units.hpp"

#include <string>

namespace foretrain::experiments {

inline constexpr int kHostThread = 100; // that launches, in the timeline

/// The name of a process ("process_name") or of its thread ("thread_name").
Json name_event(const char* what, int pid, int tid, const std::string& name);

/// What HTA takes for a step.
Json step_event(int pid, Seconds length);

/// A kernel on a stream and the host's call that launched it, joined by a correlation of their own:
/// HTA and trace_summary.hpp tell computation and communication apart by category and name. `args`
/// may hold more about it.
void add_kernel(Json& events, const std::string& name, int pid, int stream, Seconds start,
                Seconds length, Json args = Json::object());

/// Throws UsageError when the file cannot be written.
void write_events(const std::string& path, const Json& events);

} // namespace foretrain::experiments
