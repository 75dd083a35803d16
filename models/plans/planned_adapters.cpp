// What tensor-parallel ranks exchange for the adapters of a layer (NeMo, nemo/collections/llm/peft/
// utils.py, ParallelLinearAdapter; Megatron Bridge has the same).
#include "models/plans/planned_layer.hpp"

namespace foretrain::models {

// Beside a product cut by columns both narrow ones are: what the first makes is gathered, and the
// gradient of what goes into the second is added up. Beside one cut by rows the first is cut so,
// too, and its result is added up; the second, cut by columns, makes some columns of all tokens,
// where all columns of some tokens are needed: ranks turn one into the other, or gather everything
// and take their tokens, whose gradient they gather in turn. What the first adapter takes is there.
PlannedCalls PlannedLayer::adapter_calls(bool backward) const
{
  const std::optional<Adapters>& adapters = shape_.adapters;
  if (!adapters || shape_.tensor < 2)
    return {};
  const Bytes narrow(shape_.tokens() * adapters->rank * s_.memory.element);
  const auto whole = [&](Operation operation) {
    return PlannedCall{PlanGroup::tensor, operation, activations(), 1};
  };
  PlannedCalls calls;
  const auto add = [&](AdapterTarget in, AdapterTarget out) {
    if (adapters->on(in)) {
      const Operation way = backward ? Operation::all_reduce : Operation::all_gather;
      calls.push_back({PlanGroup::tensor, way, narrow, 1});
      if (backward && !shape_.sequence_parallel)
        calls.push_back(whole(Operation::all_reduce));
    }
    if (!adapters->on(out))
      return;
    calls.push_back({PlanGroup::tensor, Operation::all_reduce, narrow, 1});
    if (shape_.sequence_parallel && adapters->all_to_all)
      calls.push_back(all_to_all(PlanGroup::tensor, s_.memory.model.hidden));
    else if (shape_.sequence_parallel || !backward)
      calls.push_back(whole(Operation::all_gather));
  };
  if (parts_.mixer == Mixer::attention)
    add(AdapterTarget::linear_qkv, AdapterTarget::linear_proj);
  if (parts_.feed == FeedForward::dense)
    add(AdapterTarget::linear_fc1, AdapterTarget::linear_fc2);
  return calls;
}

} // namespace foretrain::models
