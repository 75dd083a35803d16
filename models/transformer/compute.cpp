#include "models/transformer/compute.hpp"

#include <algorithm>

namespace foretrain::models {

namespace {

Seconds moving(double bytes, int kernels, const TransformerDevice& device)
{
  return bytes > 0 ? kernels * device.kernel_floor + Bytes(bytes) / device.memory : Seconds(0);
}

Seconds evaluating(double functions, const TransformerDevice& device)
{
  return device.functions > 0 ? Seconds(functions / device.functions) : Seconds(0);
}

Seconds multiplying(const Operator& op, const sim::Product& product,
                    const TransformerDevice& device)
{
  const sim::ProductCurve& curve =
      op.weights && op.product.operand_bytes < 2 ? device.narrow : device.half;
  return Seconds(curve(product, device.clock) / op.efficiency);
}

// Each kernel of the forward pass is an operation that the framework dispatches, and that backward
// walks.
Seconds launching(const Operator& op, int kernels, const TransformerDevice& device)
{
  if (!device.launches)
    return Seconds(0);
  const double casts = op.weights ? device.launches->casts_per_weight : 0;
  return device.launches->time(op.forward_kernels, kernels + casts);
}

// What of an attention kernel passes beside another one.
Seconds covered(const Operator& op, const TransformerDevice& device)
{
  return Seconds(op.beside ? device.attention.floor : 0.0);
}

} // namespace

void TransformerDevice::quicken(double factor)
{
  half.quicken(factor);
  narrow.quicken(factor);
  attention.quicken(factor);
  memory *= factor;
  functions *= factor;
  kernel_floor *= 1 / factor;
}

Seconds time_in_order(const OperatorTime& first, const OperatorTime& second)
{
  return std::max(first.host + second.host, first.time() + second.device);
}

OperatorTime forward_time(const Operator& op, const TransformerDevice& device)
{
  OperatorTime time{Seconds(0), launching(op, op.forward_kernels, device)};
  switch (op.kind) {
  case OperatorKind::product:
    time.device = multiplying(op, op.product, device) +
                  moving(op.forward_bytes, op.forward_kernels - 1, device);
    break;
  case OperatorKind::attention:
    time.device = op.share * (Seconds(device.attention.forward(op.attention, device.clock)) -
                              covered(op, device));
    time.host = op.share * time.host;
    break;
  case OperatorKind::memory:
    time.device = std::max(moving(op.forward_bytes, op.forward_kernels, device),
                           evaluating(op.functions, device));
    break;
  }
  return time;
}

OperatorTime backward_time(const Operator& op, const TransformerDevice& device)
{
  OperatorTime time{Seconds(0), launching(op, op.backward_kernels, device)};
  switch (op.kind) {
  case OperatorKind::product: {
    const sim::Product& p = op.product;
    sim::Product input = p; // gradient of the left side
    input.n = p.k;
    input.k = p.n;
    sim::Product right = p; // of the right side: sums over the tokens
    right.m = p.n;
    right.n = p.k;
    right.k = p.m;
    const int products = op.frozen ? 1 : 2;
    time.device = multiplying(op, input, device) +
                  moving(op.backward_bytes, op.backward_kernels - products, device);
    if (!op.frozen)
      time.device += multiplying(op, right, device);
    if (op.again)
      time += forward_time(op, device);
    break;
  }
  case OperatorKind::attention:
    time.device = op.share * (Seconds(device.attention.backward_time(op.attention, device.clock)) -
                              covered(op, device));
    time.host = op.share * time.host;
    break;
  case OperatorKind::memory:
    time.device = std::max(moving(op.backward_bytes, op.backward_kernels, device),
                           evaluating(2 * op.functions, device));
    break;
  }
  return time;
}

OperatorTime forward_time(std::span<const Operator> operators, const TransformerDevice& device)
{
  OperatorTime sum;
  for (const Operator& op : operators)
    sum += forward_time(op, device);
  return sum;
}

OperatorTime backward_time(std::span<const Operator> operators, const TransformerDevice& device)
{
  OperatorTime sum;
  for (const Operator& op : operators)
    sum += backward_time(op, device);
  return sum;
}

OperatorTime modules_time(std::span<const Operator> operators,
                          const std::vector<LayerModule>& modules, const TransformerDevice& device)
{
  OperatorTime sum;
  for (const Operator& op : operators)
    if (op.module && among(modules, *op.module))
      sum += forward_time(op, device);
  return sum;
}

} // namespace foretrain::models
