// The operators of one step of an execution trace, and which of their tensors nothing in the step
// computed: weights and the batch, by the trace's ids of tensors and storages.
#pragma once

#include "models/graphs/aten_operator.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace foretrain::models {

/// As traces tell it. Ids are used again after a tensor is freed; weights live throughout.
struct TracedTensor {
  double id = -1, storage = -1, offset = 0;
  std::string device;
  AtenShape shape;
};

/// Where a tensor comes from: a storage, how often it had been filled anew, and the offset in it.
struct TracedRoot {
  std::tuple<double, int, double> key;
  double elements = 0; // of the whole tensor that this one is a view of
  bool kept = false;   // nothing in the step computed it
};

enum class TraceMark : unsigned char { none, known, unknown, backward, step, exchange };

struct TracedCall {
  std::int64_t id = 0;
  AtenCall call;
  std::vector<TracedTensor> inputs; // one for each of the call's; id -1: no tensor
  std::vector<TracedTensor> listed; // those of lists among the inputs
  std::vector<TracedTensor> outputs;
  std::vector<std::optional<TracedRoot>> roots; // of `inputs`
};

struct TracedNode {
  std::int64_t parent = -1;
  TraceMark mark = TraceMark::none;
  std::int32_t call = -1; // into the calls; -1: an annotation
};

using TracedNodes = std::map<std::int64_t, TracedNode>;

/// Fills `roots` and `kept` of the calls of one step's forward pass (-1: of what is in no step).
/// Returns the operators that are not known and hold no known one.
std::vector<const TracedCall*> follow_step(const TracedNodes& nodes, std::vector<TracedCall>& calls,
                                           std::int64_t step);

/// Of a recurrent layer; 0: it is none.
double recurrent_weights(const TracedCall& call);

} // namespace foretrain::models
