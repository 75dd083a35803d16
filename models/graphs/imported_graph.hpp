// A graph that other software wrote, as a network file with "operators".
#pragma once

#include "models/networks/operator_spec.hpp"
#include "sim/base/document.hpp"

#include <string>
#include <vector>

namespace foretrain::models {

struct ImportedGraph {
  std::vector<OperatorSpec> operators; // of one sample, in forward order
  std::vector<std::string> notes;      // what was found, what is not told, for people
};

/// The model file. `source`: where the graph comes from.
Json graph_json(const ImportedGraph& graph, const std::string& name, const std::string& source);

/// "96 operators, 25.56 million parameters, 4.1 GMAC per sample".
std::string graph_summary(const ImportedGraph& graph);

/// Elements as a gradient's size: at least 1, at most 2e9.
int gradient_elements(double elements);

} // namespace foretrain::models
