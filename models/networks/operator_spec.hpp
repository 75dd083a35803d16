// The "operators" of a network file: a graph that other software wrote, as arithmetic and traffic
// of one sample, operator by operator. Where a file's own layers would need its branches, this
// needs shapes alone.
#pragma once

#include "models/networks/layer.hpp"
#include "sim/base/schema.hpp"

#include <string>
#include <vector>

namespace foretrain::models {

struct OperatorSpec {
  std::string name;
  std::string op;        // as the other software calls it
  std::string kind;      // a LayerKind
  std::vector<int> gemm; // [count, m, n, k]: products of m x k by k x n matrices; empty: none
  int window = 0;        // positions under the kernel of a convolution
  double minimal_filtering = 1; // as of a Layer
  double flops = 0;             // where it is no product
  double input_elements = 0, output_elements = 0;
  std::vector<int> gradients; // elements of each trainable tensor
};

template <class V>
void describe(V& v, OperatorSpec& s)
{
  v.optional("name", s.name, "for people");
  v.optional("op", s.op, "what it is called where it comes from");
  v.required("kind", s.kind, "what limits it",
             one_of({"conv", "linear", "attention", "norm", "row_norm", "elementwise", "pool",
                     "embedding", "copy"}));
  v.optional("gemm", s.gemm,
             "[count, m, n, k]: so many products of an m x k by a k x n matrix for each sample",
             between(1, 2e9));
  v.optional("window", s.window, "positions under the kernel of a convolution", between(0, 1e6));
  v.optional("minimal_filtering", s.minimal_filtering,
             "by how much minimal filtering (Winograd) cuts a convolution's multiplications",
             between(1, 16));
  v.optional("flops", s.flops, "operations for each sample, where it is no product",
             between(0, 1e18));
  v.optional("input_elements", s.input_elements, "read for each sample, weights not included",
             between(0, 1e15));
  v.optional("output_elements", s.output_elements, "written for each sample", between(0, 1e15));
  v.optional("gradients", s.gradients, "elements of each trainable tensor", between(1, 2e9));
}

/// Throws ConfigError for a product of other than four numbers.
std::vector<Layer> operator_layers(const std::vector<OperatorSpec>& operators, const Value& at);

/// As the file holds it.
Json json_of(const OperatorSpec& spec);

} // namespace foretrain::models
