// What is needed of an ONNX file (onnx.proto3): nodes in order, shapes, attributes. Weights are
// passed over.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace foretrain::models {

using OnnxShape = std::vector<std::int64_t>;

struct OnnxNode {
  std::string name, op, domain;
  std::vector<std::string> inputs, outputs;
  std::vector<std::string> captured;            // what graphs inside of it (If, Loop, Scan) take
  std::map<std::string, std::int64_t> integers; // attributes
  std::map<std::string, std::vector<std::int64_t>> lists; // of integers
  std::map<std::string, std::string> texts;
};

struct OnnxFile {
  std::string producer;
  std::string graph;                                       // its name
  std::vector<OnnxNode> nodes;                             // in the order of execution
  std::map<std::string, OnnxShape> weights;                // initializers
  std::map<std::string, OnnxShape> constants;              // what nodes of that kind make
  std::set<std::string> whole_numbers;                     // of both: shapes or indices
  std::map<std::string, std::vector<std::int64_t>> values; // of small integer initializers
  std::map<std::string, OnnxShape> shapes;                 // of tensors that the file tells
  std::vector<std::string> inputs;                         // of the graph, weights left out
  std::vector<std::string> symbols; // names of dimensions that are not told: 1 is taken
};

/// Throws ConfigError when the file cannot be read, is no ONNX model, or is cut off.
OnnxFile read_onnx(const std::filesystem::path& path);

/// Whether the file's first bytes look like one.
bool looks_like_onnx(const std::string& head);

} // namespace foretrain::models
