// Execution traces of PyTorch (ExecutionTraceObserver; schema 1.x, JSON): operators with shapes and
// nesting, no times.
#pragma once

#include "models/graphs/imported_graph.hpp"
#include "models/traces/text_source.hpp"

#include <filesystem>
#include <optional>

namespace foretrain::models {

/// The forward pass of one step; gradients are those of its weights. `batch`: samples, where the
/// first dimension of the first product's input is not that. The file is read node by node. Throws
/// ConfigError when it is none, is damaged, or tells no shapes.
ImportedGraph import_execution_trace(const std::filesystem::path& path,
                                     std::optional<int> batch = {}, const Progress& progress = {});

bool looks_like_execution_trace(const std::string& head);

} // namespace foretrain::models
