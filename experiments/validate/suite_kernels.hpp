// Tables of single kernels in a suite: products and attention.
#pragma once

#include "platforms/parts.hpp"

#include <functional>
#include <string>
#include <vector>

namespace foretrain::experiments {

struct SuiteKernels {
  std::string id;
  Value gpu;
  std::string kernel = "product"; // or attention
  sim::Precision precision = sim::Precision::bf16;
  std::vector<std::vector<double>> rows;     // that the curves were fitted to
  std::vector<std::vector<double>> held_out; // that they were not
  std::string source;
};

/// Name of a row by its shape: "128x4096x1024".
std::string shape_of(const std::vector<double>& row);

/// Seconds of each row, first those fitted to. Throws ConfigError for a row of the wrong length.
std::function<Json()> kernels_run(const SuiteKernels& kernels, const Value& at);

template <class V>
void describe(V& v, SuiteKernels& s)
{
  v.required("id", s.id, "name of the table; a row's id is ID-SHAPE");
  v.required("gpu", s.gpu, "the GPU", preset("gpu"));
  v.optional("kernel", s.kernel, "what was measured", one_of({"product", "attention"}));
  v.optional("precision", s.precision, "of the operands", one_of({"fp16", "bf16", "fp8"}));
  v.optional("rows", s.rows,
             "a fit has used them: [m, n, k, us], or [batch, tokens, heads, KV heads, head size, "
             "us] of causal attention");
  v.optional("held_out", s.held_out, "the same, which no fit has used");
  v.optional("source", s.source, "where the table was published or measured");
}

} // namespace foretrain::experiments
