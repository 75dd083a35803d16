// ONNX models: shapes of operators to arithmetic and traffic.
#pragma once

#include "models/graphs/imported_graph.hpp"

#include <filesystem>
#include <optional>

namespace foretrain::models {

/// A sample is what the first dimension of the graph's first input counts; `batch` is that number
/// where the file gives none. Operators on shapes alone cost nothing. Throws ConfigError when the
/// file is no whole ONNX model, and where a product's shapes are not told.
ImportedGraph import_onnx(const std::filesystem::path& path, std::optional<int> batch = {});

} // namespace foretrain::models
