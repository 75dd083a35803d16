#include "realrun/common/program.hpp"

#include <algorithm>

namespace foretrain::realrun {

std::string name_of(OpKind kind)
{
  switch (kind) {
  case OpKind::convolution:
    return "convolution";
  case OpKind::linear:
    return "linear";
  case OpKind::relu:
    return "relu";
  case OpKind::gelu:
    return "gelu";
  case OpKind::layer_norm:
    return "layer_norm";
  case OpKind::attention:
    return "attention";
  case OpKind::add:
    return "add";
  case OpKind::mean_pool:
    return "mean_pool";
  }
  return "unknown";
}

double Program::flop_per_sample() const
{
  double total = 0.0;
  for (const Op& op : ops)
    total += op.forward_flop + op.backward_flop;
  return total;
}

namespace {

void count_work(const Program& program, Op& op)
{
  const Buffer& in = program.buffers[op.input];
  const Buffer& out = program.buffers[op.output];
  if (op.kind == OpKind::linear || op.kind == OpKind::convolution) {
    const auto& weight = program.parameters[static_cast<std::size_t>(op.weight)];
    const double gemm = 2.0 * static_cast<double>(out.rows) * static_cast<double>(weight.size());
    op.forward_flop = gemm;
    op.backward_flop = op.input_gradient ? 2.0 * gemm : gemm;
  } else if (op.kind == OpKind::attention) {
    const auto rows = static_cast<double>(in.rows);
    op.forward_flop = 4.0 * rows * rows * static_cast<double>(out.width);
    op.backward_flop = 2.0 * op.forward_flop;
  } else {
    op.forward_flop = static_cast<double>(out.size());
    op.backward_flop = static_cast<double>(in.size());
  }
}

} // namespace

void complete(Program& program)
{
  std::vector<bool> written(program.buffers.size(), false);
  written[program.logits] = true;
  for (auto op = program.ops.rbegin(); op != program.ops.rend(); ++op) {
    op->input_gradient = op->input != 0;
    op->adds_to_input = written[op->input];
    written[op->input] = true;
    if (op->kind == OpKind::add) {
      op->adds_to_other = written[op->other];
      written[op->other] = true;
    }
    if (op->kind == OpKind::convolution)
      program.largest_patch_matrix = std::max(program.largest_patch_matrix,
                                              program.buffers[op->output].rows * op->patches.row());
    count_work(program, *op);
  }
  program.parameter_count = program.parameters.empty() ? 0
                                                       : program.parameters.back().offset +
                                                             program.parameters.back().size();
}

} // namespace foretrain::realrun
