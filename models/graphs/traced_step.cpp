#include "models/graphs/traced_step.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace foretrain::models {

namespace {

// Copies of a tensor into another storage on the same device.
bool copies_its_first(const std::string& name)
{
  static const std::set<std::string> kCopies{"aten::contiguous", "aten::clone", "aten::to",
                                             "aten::_to_copy", "aten::type_as"};
  return kCopies.contains(name);
}

class TracedStorages {
public:
  // Before what is inside of an operator: its inputs are there.
  void enter(const TracedCall& call)
  {
    for (const auto* tensors : {&call.inputs, &call.listed})
      for (const TracedTensor& tensor : *tensors)
        if (tensor.storage > 0 && !views_.contains(tensor.id)) {
          double& whole = wholes_[{tensor.storage, filled(tensor.storage)}][tensor.offset];
          whole = std::max(whole, elements(tensor.shape));
        }
  }

  // Behind it: a result in a storage of its own is new, any other one is a view.
  void leave(const TracedCall& call)
  {
    for (const TracedTensor& made : call.outputs) {
      if (made.storage <= 0)
        continue;
      const TracedTensor* same = with_storage(call, made.storage);
      if (same == nullptr)
        fill(call, made);
      if (same != nullptr && same->id != made.id)
        views_.insert(made.id);
      else if (same == nullptr)
        views_.erase(made.id);
    }
  }

  std::optional<TracedRoot> root_of(const TracedTensor& tensor) const
  {
    if (tensor.storage <= 0)
      return std::nullopt;
    if (const auto copy = copies_.find(tensor.storage); copy != copies_.end())
      return copy->second;
    const int times = filled(tensor.storage);
    TracedRoot root{{tensor.storage, times, tensor.offset}, elements(tensor.shape), times == 0};
    const auto wholes = wholes_.find({tensor.storage, times});
    if (wholes != wholes_.end())
      for (const auto& [offset, size] : wholes->second)
        if (offset <= tensor.offset && tensor.offset < offset + size) {
          root.key = {tensor.storage, times, offset};
          root.elements = size;
          break; // the first one is the largest
        }
    return root;
  }

private:
  static const TracedTensor* with_storage(const TracedCall& call, double storage)
  {
    for (const auto* tensors : {&call.inputs, &call.listed})
      for (const TracedTensor& tensor : *tensors)
        if (tensor.storage == storage)
          return &tensor;
    return nullptr;
  }

  int filled(double storage) const
  {
    const auto found = filled_.find(storage);
    return found == filled_.end() ? 0 : found->second;
  }

  void fill(const TracedCall& call, const TracedTensor& made)
  {
    ++filled_[made.storage];
    copies_.erase(made.storage);
    if (!copies_its_first(call.call.name) || call.inputs.empty() ||
        call.inputs[0].device != made.device)
      return;
    if (const auto root = root_of(call.inputs[0]); root && root->kept)
      copies_[made.storage] = *root;
  }

  std::map<double, int> filled_;                                      // how often, by storage
  std::map<double, TracedRoot> copies_;                               // by storage
  std::set<double> views_;                                            // tensors
  std::map<std::pair<double, int>, std::map<double, double>> wholes_; // elements by offset
};

bool is_recurrent(const std::string& name)
{
  static const std::set<std::string> kRecurrent{
      "aten::lstm",       "aten::gru",        "aten::rnn_tanh",        "aten::rnn_relu",
      "aten::_cudnn_rnn", "aten::miopen_rnn", "aten::mkldnn_rnn_layer"};
  return kRecurrent.contains(name);
}

class StepWalk {
public:
  StepWalk(const TracedNodes& nodes, std::vector<TracedCall>& calls) : nodes_(nodes), calls_(calls)
  {
    for (const auto& [id, node] : nodes)
      if (node.parent != id && nodes.contains(node.parent))
        inside_[node.parent].push_back(id);
  }

  std::vector<const TracedCall*> from(std::int64_t step)
  {
    frames_.emplace_back();
    if (step >= 0)
      walk(step);
    else
      for (const auto& [id, node] : nodes_)
        if (node.mark != TraceMark::step && (node.parent == id || !nodes_.contains(node.parent)))
          walk(id);
    return std::move(frames_.front().unknown);
  }

private:
  struct Frame {
    std::int64_t id = 0;
    std::size_t next = 0; // of what is inside
    bool known = false, multiplies = false;
    std::vector<const TracedCall*> unknown;
  };

  void open(std::int64_t id)
  {
    frames_.emplace_back().id = id;
    if (const std::int32_t call = nodes_.at(id).call; call >= 0)
      storages_.enter(calls_[static_cast<std::size_t>(call)]);
  }

  void walk(std::int64_t id)
  {
    open(id);
    while (frames_.size() > 1) {
      Frame& frame = frames_.back();
      const auto inside = inside_.find(frame.id);
      if (inside == inside_.end() || frame.next == inside->second.size()) {
        close();
        continue;
      }
      const std::int64_t next = inside->second[frame.next++];
      const TraceMark mark = nodes_.at(next).mark;
      if (next != id && mark != TraceMark::backward && mark != TraceMark::step &&
          mark != TraceMark::exchange)
        open(next);
    }
  }

  void close()
  {
    Frame frame = std::move(frames_.back());
    frames_.pop_back();
    Frame& above = frames_.back();
    const TracedNode& node = nodes_.at(frame.id);
    if (node.call >= 0) {
      TracedCall& call = calls_[static_cast<std::size_t>(node.call)];
      const bool recurrent = is_recurrent(call.call.name) && !frame.multiplies;
      if (node.mark == TraceMark::known)
        settle(call);
      storages_.leave(call);
      if (node.mark == TraceMark::known || recurrent)
        frame.unknown.clear();
      if (recurrent || (node.mark == TraceMark::unknown && !frame.known))
        frame.unknown = {&call};
      above.multiplies |= node.mark == TraceMark::known && multiplies(call.call.name);
    }
    above.known |= frame.known || node.mark == TraceMark::known;
    above.multiplies |= frame.multiplies;
    above.unknown.insert(above.unknown.end(), frame.unknown.begin(), frame.unknown.end());
  }

  // Two views of one tensor are not a product with a weight; what has been spread over a batch
  // is no weight of it.
  void settle(TracedCall& call) const
  {
    call.roots.clear();
    for (const TracedTensor& input : call.inputs)
      call.roots.push_back(storages_.root_of(input));
    if (call.outputs.empty() || call.outputs.front().storage <= 0)
      return;
    std::vector<bool>& kept = call.call.kept;
    kept.assign(call.inputs.size(), false);
    for (std::size_t i = 0; i < call.roots.size(); ++i) {
      const auto same = [&](const auto& other) {
        return other && call.roots[i] && other->key == call.roots[i]->key;
      };
      kept[i] = call.roots[i] && call.roots[i]->kept &&
                elements(call.inputs[i].shape) <= call.roots[i]->elements &&
                std::ranges::count_if(call.roots, same) == 1;
    }
  }

  const TracedNodes& nodes_;
  std::vector<TracedCall>& calls_;
  std::map<std::int64_t, std::vector<std::int64_t>> inside_;
  std::vector<Frame> frames_;
  TracedStorages storages_;
};

} // namespace

std::vector<const TracedCall*> follow_step(const TracedNodes& nodes, std::vector<TracedCall>& calls,
                                           std::int64_t step)
{
  return StepWalk(nodes, calls).from(step);
}

double recurrent_weights(const TracedCall& call)
{
  double held = 0;
  if (is_recurrent(call.call.name))
    for (const auto* tensors : {&call.inputs, &call.listed})
      for (const TracedTensor& tensor : *tensors)
        held += tensor.shape.empty() || tensor.shape.size() > 2 ? 0 : elements(tensor.shape);
  return held;
}

} // namespace foretrain::models
