// What the update of the weights costs one GPU: traffic, launches, and host time nothing hides.
#pragma once

#include "sim/base/catalog.hpp"
#include "sim/base/schema.hpp"
#include "sim/cost/roofline.hpp"

#include <optional>
#include <string>

namespace foretrain::models {

inline constexpr PresetKind kOptimizerKind{"optimizer", "models/data/optimizers"};

/// How frameworks run an update: few kernels over all tensors, lists of tensors with one pass for
/// each elementary operation, kernels for each tensor launched one by one, or by the executor of a
/// graph.
enum class OptimizerStyle { fused, foreach_, per_tensor, graph };
constexpr auto choices(OptimizerStyle)
{
  return std::to_array<Choice<OptimizerStyle>>({{OptimizerStyle::fused, "fused"},
                                                {OptimizerStyle::foreach_, "foreach"},
                                                {OptimizerStyle::per_tensor, "per-tensor"},
                                                {OptimizerStyle::graph, "graph"}});
}

/// One way to run the update.
struct OptimizerForm {
  double bytes_per_parameter = 20; // read and written, weights and state in single precision
  double launches = 1;             // kernels of a step, however many tensors there are
  double launches_per_tensor = 0;  // and for each tensor
  Seconds host{};                  // of a step, that the host needs before the last kernel starts
  Seconds host_per_tensor{};       // and for each tensor
};

/// Updates that are made orthogonal by an iteration of products (Muon: K. Jordan, 2024;
/// arXiv:2502.16982): each of a matrix with its transpose, the square of that, and that with the
/// matrix. Tables of embeddings and logits are left to Adam.
struct NewtonSchulz {
  int iterations = 5;
  double table_bytes_per_parameter = 8; // of the state of tables
};

/// An algorithm, and the ways frameworks run it.
struct Optimizer {
  std::string name;
  double state_bytes_per_parameter = 4; // beside the weight and its gradient
  double flops_per_parameter = 4;
  OptimizerForm fused;
  std::optional<OptimizerForm> foreach_, per_tensor, graph;
  std::optional<OptimizerStyle> style; // absent: as the framework does it
  std::optional<NewtonSchulz> newton_schulz;
};

/// What an update costs on one GPU.
struct OptimizerCost {
  Seconds kernels;     // of the leanest form
  double launches = 0; // of the form that runs
  Seconds host;        // that a framework's Python takes to launch it
  Seconds passes;      // of what passes through memory more often than in the leanest form
};

/// Reads and checks an optimizer. Throws ConfigError.
Optimizer load_optimizer(const Value& reference);

/// The form that a framework of this style runs; the fused one where the optimizer has no form of
/// that style.
const OptimizerForm& form_of(const Optimizer& optimizer, OptimizerStyle style);

/// `tensors` gradient tensors of `parameters` values in all. `copy_bytes` are written beside each
/// weight (the working copy in half precision). `beside` passes the device's cache between one
/// update and the next, beside what updates move.
///
/// A form that is launched tensor by tensor after a blocking wait costs its host time and the
/// passes beyond the fused form's on top: its kernels are too short to hide the launches.
OptimizerCost optimizer_cost(const Optimizer& optimizer, OptimizerStyle style, double parameters,
                             double tensors, double copy_bytes, const sim::Roofline& device,
                             Bytes beside = Bytes());

template <class V>
void describe(V& v, OptimizerForm& s)
{
  v.optional("bytes_per_parameter", s.bytes_per_parameter,
             "read and written for each parameter: weight, gradient and state", non_negative());
  v.optional("launches", s.launches, "kernels of a step, however many tensors there are",
             non_negative());
  v.optional("launches_per_tensor", s.launches_per_tensor, "kernels for each gradient tensor",
             non_negative());
  v.optional("host", s.host, "host time of a step before its last kernel starts", non_negative());
  v.optional("host_per_tensor", s.host_per_tensor, "host time for each gradient tensor",
             non_negative());
}

template <class V>
void describe(V& v, NewtonSchulz& s)
{
  v.optional("iterations", s.iterations, "products of each update: three in each iteration",
             between(1, 100));
  v.optional("table_bytes_per_parameter", s.table_bytes_per_parameter,
             "kept for each parameter of embeddings and logits, which have another optimizer",
             non_negative());
}

template <class V>
void describe(V& v, Optimizer& s)
{
  v.format("foretrain.optimizer/1");
  v.required("name", s.name, "name of the algorithm");
  v.optional("state_bytes_per_parameter", s.state_bytes_per_parameter,
             "kept for each parameter beside the weight and its gradient", non_negative());
  v.optional("flops_per_parameter", s.flops_per_parameter, "arithmetic of one update",
             non_negative());
  v.required("fused", s.fused, "few kernels over all tensors: the least traffic");
  v.optional("foreach", s.foreach_, "lists of tensors, one pass for each elementary operation");
  v.optional("per_tensor", s.per_tensor, "kernels for each tensor, launched one after the other");
  v.optional("graph", s.graph, "kernels for each tensor, launched by the executor of a graph");
  v.optional("style", s.style, "how it is run, whatever the framework usually does");
  v.optional("newton_schulz", s.newton_schulz,
             "updates of a transformer's matrices are made orthogonal by products (Muon)");
}

} // namespace foretrain::models
