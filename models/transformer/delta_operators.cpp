// Linear attention with a delta rule as its kernels do it (fla-org/flash-linear-attention,
// fla/ops/gated_delta_rule/chunk.py and fla/ops/kda/chunk.py; arXiv:2412.06464, section 3.3): what
// tokens of a chunk write beside each other is a triangular system, states pass from chunk to
// chunk.
#include "models/transformer/operator_writer.hpp"

#include <algorithm>

namespace foretrain::models {

void OperatorWriter::delta_gates(const DeltaNet& d)
{
  const double tokens = shape.tokens();
  const double decays = static_cast<double>(d.heads) * d.key() / shape.tensor;
  product("gates down", tokens, 2.0 * d.gate_rank, t.hidden);
  product("gates up", tokens, decays + d.values() / shape.tensor, d.gate_rank);
  // Of each value of a key: the decay and its sum over the chunk, both in single precision.
  constexpr double kExact = 4; // bytes
  memory("decay", tokens * decays, 1 + 3 * kExact / shape.element, 1 + 3 * kExact / shape.element,
         2);
}

// Products of a chunk of each head. Twice as many have their gradients, and what is not kept is
// made anew: what is written, and states.
void OperatorWriter::delta_chunks(const DeltaNet& d)
{
  const double chunk = d.chunk;
  const double heads = static_cast<double>(d.heads) / shape.tensor;
  const double count = heads * std::max(1.0, shape.tokens() / chunk);
  const auto chunk_product = [&](const char* name, double rows, double columns, double sum,
                                 bool again = false) {
    Operator& op = inner_product(name, rows, columns, sum, count);
    op.efficiency = shape.scan;
    op.again = again;
  };
  chunk_product("chunk keys", chunk, chunk, d.key());
  chunk_product("chunk solution", chunk, chunk, chunk / 3);
  chunk_product("chunk keys written", chunk, d.key(), chunk, true);
  chunk_product("chunk values written", chunk, d.head_size, chunk, true);
  chunk_product("values known", chunk, d.head_size, d.key(), true);
  chunk_product("state", d.key(), d.head_size, chunk, true);
  chunk_product("values of states", chunk, d.head_size, d.key());
  chunk_product("chunk pairs", chunk, chunk, d.key());
  chunk_product("values of chunks", chunk, d.head_size, chunk);
  // Each state is written and read; backward again, with its gradient.
  memory("states", count * d.key() * d.head_size, 2, 4);
  memory("what is written", count * chunk * (d.key() + 2.0 * d.head_size + chunk), 2, 5);
}

void OperatorWriter::delta(const DeltaNet& d)
{
  const double tokens = shape.tokens();
  const double wide = d.convolved() + d.heads + (d.gate_rank > 0 ? 0.0 : d.heads + d.values());
  product("linear in", tokens, wide / shape.tensor, t.hidden);
  shared(TensorEnd::in, 1);
  if (d.gate_rank > 0)
    delta_gates(d);
  memory("convolution", tokens * d.convolved() / shape.tensor, 2, 5);
  operators.back().backward_kernels = 3;
  memory("qk norm", tokens * 2 * d.keys() / shape.tensor, 2, 3, 2);
  delta_chunks(d);
  memory("gated norm", tokens * d.values() / shape.tensor, 3, 6);
  product("linear out", tokens, t.hidden, d.values() / shape.tensor);
  shared(TensorEnd::out, 1);
}

} // namespace foretrain::models
