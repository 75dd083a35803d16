#include "models/transformer/operator_writer.hpp"

#include "models/training/layer_passes.hpp"

#include <algorithm>

namespace foretrain::models {

Operator& OperatorWriter::inner_product(const char* name, double m, double n, double k,
                                        double count)
{
  Operator op;
  op.name = name;
  op.module = module_;
  op.kind = OperatorKind::product;
  op.product = {m, n, k, shape.element, shape.element, count};
  op.backward_kernels = 2;
  operators.push_back(op);
  return operators.back();
}

void OperatorWriter::product(const char* name, double m, double n, double k, double count)
{
  Operator& op = inner_product(name, m, n, k, count);
  op.product.operand_bytes = shape.operand;
  op.weights = true;
  op.frozen = shape.adapters.has_value();
  op.backward_kernels = op.frozen ? 1 : 2;
  if (shape.conversion.kernels > 0) {
    // The operand is converted, as it is and transposed; so is the gradient of the result.
    op.forward_bytes = count * m * k * shape.conversion.bytes;
    op.backward_bytes = count * m * n * shape.conversion.bytes;
    op.forward_kernels += shape.conversion.kernels;
    op.backward_kernels += shape.conversion.kernels;
    op.forward_bytes += count * n * k * shape.conversion.weight_bytes;
    op.backward_bytes += count * n * k * shape.conversion.weight_bytes;
  }
  if (!op.frozen)
    op.backward_bytes += count * n * k * shape.summed();
  else if (shape.adapters->weights == FrozenWeights::nf4) {
    // Both passes make 16 bits of the weight first.
    const double made = count * n * k * (kNf4Bytes + shape.element);
    op.forward_bytes += made;
    op.backward_bytes += made;
    ++op.forward_kernels;
    ++op.backward_kernels;
  }
}

void OperatorWriter::product(AdapterTarget target, const char* name, double m, double n, double k,
                             double count)
{
  product(name, m, n, k, count);
  if (!shape.adapters || !shape.adapters->on(target))
    return;
  operators.back().adapted = true;
  const double rank = shape.adapters->rank;
  // Each by itself (NeMo and Megatron Bridge, ParallelLinearAdapter and LoRALinear; peft): dropout
  // with a mask of a byte, products, scale, sum.
  if (shape.adapters->dropout)
    memory("adapter dropout", count * m * k, 2 + 1 / shape.element, 2 + 1 / shape.element);
  for (const bool down : {true, false}) {
    Operator& op = inner_product(down ? "adapter down" : "adapter up", m, down ? rank : n,
                                 down ? k : rank, count);
    op.weights = true;
    op.backward_bytes = count * rank * (down ? k : n) * shape.summed();
  }
  // Or scaled and added up by the products (NeMo, TEFusedLoRALinear: beta = 1 in both passes).
  if (!(shape.op_fuser && shape.tensor == 1)) {
    memory("adapter scale", count * m * n, 2, 2);
    memory("adapter sum", count * m * n, 3, 3 * k / n);
  }
  if (!shape.adapters->magnitudes)
    return;
  // The adapter's product is written, added to the weight, and the sum read by its norms, which
  // have no gradient (DoRA, arXiv:2402.09353, section 4.3); scaled by itself where kernels are
  // apart (peft, tuners/lora/dora.py).
  memory("weight norms", count * n * k, eager(5, 7), 0, shape.fused ? 3 : 4);
  memory("magnitudes", count * m * n, 2, 4);
}

void OperatorWriter::products(AdapterTarget target, const std::vector<Projection>& parts, double m,
                              double k, TensorEnd end, double count)
{
  const std::size_t first = operators.size();
  for (const Projection& part : parts) {
    const std::size_t own = operators.size();
    product(target, part.name, m, part.n, k, count);
    shared(end, part.repeated);
    Operator& op = operators[own];
    if (own == first)
      continue;
    op.same_input = true;
    op.forward_bytes -= count * m * k * shape.conversion.bytes;
    op.forward_kernels -= shape.conversion.kernels;
  }
  if (parts.size() < 2)
    return;
  // By a compiler in one kernel: in that of the norm before, or by itself where ranks exchange it.
  const AddedGradients sum = added_gradients(static_cast<int>(parts.size()) - 1, shape.fused);
  memory("sum of gradients", count * m * k, 0,
         sum.passes + (shape.fused && shape.tensor > 1 ? 2 : 0), std::max(1, sum.kernels));
}

void OperatorWriter::shared(TensorEnd end, double repeated)
{
  for (auto op = operators.rbegin(); op != operators.rend(); ++op)
    if (op->weights && !op->name.starts_with("adapter")) {
      op->end = end;
      op->repeated = repeated;
      return;
    }
}

void OperatorWriter::memory(const char* name, double elements, double forward, double backward,
                            int kernels)
{
  Operator op;
  op.name = name;
  op.module = module_;
  op.forward_bytes = forward * elements * shape.element;
  op.backward_bytes = backward * elements * shape.element;
  op.forward_kernels = forward > 0 ? kernels : 0;
  op.backward_kernels = backward > 0 ? kernels : 0;
  operators.push_back(op);
}

// Each conversion reads one width and writes the other; backward undoes both. Chains that a
// compiler fuses convert on their way.
void OperatorWriter::between_casts(double elements)
{
  Operator& op = operators.back();
  if (shape.element != 2)
    return;
  op.forward_bytes *= 2;
  op.backward_bytes *= 2;
  if (shape.fused)
    return;
  const double converted = 2 * kConvertedBytes * elements;
  op.forward_bytes += converted;
  op.backward_bytes += converted;
}

bool OperatorWriter::composed(const char* name, const char* op, double elements)
{
  const std::optional<ComposedOperation> of = composed_operation(shape.composed, shape.fused, op);
  if (!of)
    return false;
  memory(name, elements, of->forward, of->backward);
  operators.back().forward_kernels = of->forward_kernels;
  operators.back().backward_kernels = of->backward_kernels;
  if (of->single)
    between_casts(elements);
  return true;
}

void OperatorWriter::norm(const char* name, double elements)
{
  if (!t.rms() && composed(name, "layer_norm", elements))
    return;
  // Read and written; backward reads input and gradient, writes the gradient. RMSNorm written in
  // Python (Llama's, torchtune's) has a kernel for each of cast, square, mean, two products and
  // cast back: 36 bytes an element of 2 bytes. Its gradient: 92 in 16 kernels, of which 32 are of
  // the square (its power is taken again in single precision).
  // LayerNorm's gradients of scale and shift read both again (apex, PyTorch).
  memory(name, elements, t.rms() ? eager(2, 18) : 2, t.rms() ? eager(3, 46) : 5);
  if (t.rms()) {
    operators.back().forward_kernels = static_cast<int>(eager(1, 8));
    operators.back().backward_kernels = static_cast<int>(eager(1, 16));
  } else if (shape.autocast != Autocast::none) {
    between_casts(elements);
  }
}

// Dropout with its mask of a byte, and the sum with what passes by; backward the gradient of a bias
// reads all, and gradients of both ways are added up. A fused kernel reads and writes once.
void OperatorWriter::residual(const char* name)
{
  const double elements = shape.own_tokens() * t.hidden;
  const double bias = t.has_bias() ? 1 : 0;
  const AddedGradients sum = added_gradients(1, shape.fused);
  if (t.drops() && composed("dropout", "dropout", elements)) {
    memory(name, elements, shape.fused ? 0 : 2 + 3, bias + sum.passes, 2); // bias and sum
    return;
  }
  const double mask = 1 / shape.element;
  if (shape.fused) {
    memory(name, elements, t.drops() ? 3 + mask : 3, (t.drops() ? 2 + mask : sum.passes) + bias);
    return;
  }
  const double dropped = t.drops() ? 2 + mask : 0;
  memory(name, elements, dropped + 3, dropped + sum.passes + bias);
  operators.back().forward_kernels = t.drops() ? 2 : 1;
  operators.back().backward_kernels = (t.drops() ? 1 : 0) + sum.kernels + static_cast<int>(bias);
}

} // namespace foretrain::models
