// Mamba's mixers as their kernels do it (state-spaces/mamba, mamba_ssm/ops/triton/ssd_combined.py;
// arXiv:2405.21060, section 6): the scan as products of chunks, whose states are passed on.
#include "models/transformer/operator_writer.hpp"

#include <algorithm>

namespace foretrain::models {

// Of each value and token a state of so many others: one kernel that reads values, steps, the gate
// and both vectors, and keeps states on the chip; each of a state's numbers has an exponential
// (mamba_ssm, selective_scan_fwd_kernel.cuh). Backward reads the same and the gradient, and writes
// three, with all exponentials anew.
void OperatorWriter::selective_scan(const Mamba& m)
{
  const double tokens = shape.tokens();
  product("mamba in", tokens, m.projected(), t.hidden);
  memory("convolution", tokens * m.convolved(), 2, 5);
  operators.back().backward_kernels = 3;
  product("scan inputs", tokens, m.narrow(), m.inner());
  product("steps", tokens, m.inner(), m.step_rank);
  memory("selective scan", tokens * m.inner(), 4, 8);
  operators.back().functions = tokens * m.inner() * m.state;
  product("mamba out", tokens, t.hidden, m.inner());
}

void OperatorWriter::mamba(const Mamba& m)
{
  if (m.selective()) {
    selective_scan(m);
    return;
  }
  const double tokens = shape.tokens();
  const double heads = static_cast<double>(m.heads) / shape.tensor;
  const double groups = std::max(1.0, static_cast<double>(m.groups) / shape.tensor);
  const double chunks = std::max(1.0, tokens / m.chunk);
  const double inner = m.inner() / shape.tensor;
  product("mamba in", tokens, m.projected() / shape.tensor, t.hidden);
  shared(TensorEnd::in, 1);
  // With its activation; the backward pass makes it anew.
  memory("convolution", tokens * m.convolved() / shape.tensor, 2, 5);
  operators.back().backward_kernels = 3;
  // Within a chunk each token's vector out meets the vectors in of those before it; what is added
  // to a head's state by the chunk. Both are in single precision, and made anew in the backward
  // pass.
  const auto chunk_product = [&](const char* name, double rows, double columns, double sum,
                                 double count) -> Operator& {
    Operator& op = inner_product(name, rows, columns, sum, chunks * count);
    op.efficiency = shape.scan;
    return op;
  };
  constexpr double kExact = 4; // bytes
  for (const bool pairs : {true, false}) {
    Operator& op = pairs ? chunk_product("chunk pairs", m.chunk, m.chunk, m.state, groups)
                         : chunk_product("chunk states", m.head_size, m.state, m.chunk, heads);
    op.product.result_bytes = kExact;
    op.again = true;
  }
  // From chunk to chunk: read in single precision and written; backward it is done again, and
  // reads states and gradients and writes gradients.
  memory("state passing", chunks * heads * m.head_size * m.state, 1 + kExact / shape.element,
         3 + 2 * kExact / shape.element);
  operators.back().backward_kernels = 2;
  // A head's values out: of half the tokens of its chunk, and of the state before it.
  chunk_product("chunk scan", m.chunk, m.head_size, 0.5 * m.chunk + m.state, heads)
      .backward_kernels = 5;
  // Times the gate, and its norm.
  memory("gated norm", tokens * inner, 3, 6);
  product("mamba out", tokens, t.hidden, inner);
  shared(TensorEnd::out, 1);
}

} // namespace foretrain::models
