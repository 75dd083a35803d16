// Chrome traces as the PyTorch profiler (Kineto) writes them: {"traceEvents": [...]} or the list
// alone, plain or gzipped. Read as a stream: memory grows with the events that are kept, about 100
// bytes each.
#pragma once

#include "models/traces/text_source.hpp"
#include "models/traces/trace.hpp"

namespace foretrain::models {

/// Throws ConfigError when the file is no such trace. One that is cut off is read as far as it
/// goes, and a note says so.
Trace read_kineto(const std::filesystem::path& path, const Progress& progress = {});

/// Whether the file's first bytes look like one.
bool looks_like_kineto(const std::string& head);

} // namespace foretrain::models
