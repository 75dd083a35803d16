// ONNX models made in tests, imported.
#pragma once

#include "models/graphs/onnx.hpp"
#include "models/networks/network.hpp"
#include "tests/models/traces/kineto_support.hpp"
#include "tests/support/problem.hpp"
#include "tests/support/wire_writer.hpp"

#include <string>

namespace foretrain::test {

inline models::ImportedGraph read_graph(const std::string& bytes)
{
  const TemporaryFile file(bytes, ".onnx");
  return models::import_onnx(file.path());
}

inline std::string onnx_problem(const std::string& bytes)
{
  return problem_of([&] { read_graph(bytes); });
}

inline models::Network network_of(const models::ImportedGraph& graph)
{
  return models::load_network(
      Value(parse_document(models::graph_json(graph, "made", "test").dump(), "made.json")));
}

} // namespace foretrain::test
