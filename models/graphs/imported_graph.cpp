#include "models/graphs/imported_graph.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace foretrain::models {

Json graph_json(const ImportedGraph& graph, const std::string& name, const std::string& source)
{
  Json operators = Json::array();
  for (const OperatorSpec& one : graph.operators)
    operators.push_back(json_of(one));
  return {{"format", "foretrain.network/1"},
          {"name", name},
          {"source", source},
          {"operators", std::move(operators)}};
}

std::string graph_summary(const ImportedGraph& graph)
{
  double parameters = 0;
  double macs = 0;
  for (const OperatorSpec& one : graph.operators) {
    for (const int elements : one.gradients)
      parameters += elements;
    if (one.gemm.size() == 4)
      macs += static_cast<double>(one.gemm[0]) * one.gemm[1] * one.gemm[2] * one.gemm[3];
  }
  return fmt::format("{} operators, {:.4g} million parameters, {:.4g} GMAC per sample",
                     graph.operators.size(), parameters * 1e-6, macs * 1e-9);
}

int gradient_elements(double elements)
{
  return static_cast<int>(std::clamp(std::round(elements), 1.0, 2e9));
}

} // namespace foretrain::models
