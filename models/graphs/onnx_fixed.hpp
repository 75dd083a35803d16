// Tensors of an ONNX graph that are the same for all samples: weights, constants, and what is
// computed of these alone (transposed, cast, dequantised, cut out of a larger one).
#pragma once

#include "models/graphs/onnx_file.hpp"

namespace foretrain::models {

class FixedTensors {
public:
  explicit FixedTensors(const OnnxFile& file);

  /// Whether the node's results are fixed; from here on they are.
  bool take(const OnnxNode& node);

  bool holds(const std::string& tensor) const { return roots_.contains(tensor); }

  /// The weights and constants of the file that a tensor is made of. Lists of whole numbers
  /// (shapes, indices) are none.
  const std::set<std::string>& roots(const std::string& tensor) const;

private:
  bool is_fixed(const OnnxNode& node) const;

  const OnnxFile& file_;
  std::map<std::string, std::set<std::string>> roots_;
};

} // namespace foretrain::models
