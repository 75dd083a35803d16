#include "models/fleet/span_tree.hpp"

#include <algorithm>

namespace foretrain::models::fleet {

SpanTree::SpanTree(Seconds begin, const GpuSet& free)
{
  root_ = first_ = make(begin, free);
}

Seconds SpanTree::end(Id id) const
{
  return next(id) == kNone ? kNever : begin(next(id));
}

SpanTree::Id SpanTree::at(Seconds time) const
{
  Id found = first_;
  for (Id id = root_; id != kNone;)
    if (nodes_[id].begin <= time) {
      found = id;
      id = nodes_[id].right;
    } else {
      id = nodes_[id].left;
    }
  return found;
}

SpanTree::Id SpanTree::enough_from(Id from, int gpus) const
{
  return from == kNone ? kNone : enough_from(root_, begin(from), gpus);
}

SpanTree::Id SpanTree::short_from(Id from, int gpus) const
{
  return from == kNone ? kNone : short_from(root_, begin(from), gpus);
}

SpanTree::Id SpanTree::short_before(Id before, int gpus) const
{
  return short_before(root_, begin(before), gpus);
}

SpanTree::Id SpanTree::enough_from(Id root, Seconds from, int gpus) const
{
  if (root == kNone || nodes_[root].most < gpus)
    return kNone;
  const Node& node = nodes_[root];
  if (node.begin < from)
    return enough_from(node.right, from, gpus);
  if (const Id found = enough_from(node.left, from, gpus); found != kNone)
    return found;
  return node.count >= gpus ? root : enough_from(node.right, from, gpus);
}

SpanTree::Id SpanTree::short_from(Id root, Seconds from, int gpus) const
{
  if (root == kNone || nodes_[root].least >= gpus)
    return kNone;
  const Node& node = nodes_[root];
  if (node.begin < from)
    return short_from(node.right, from, gpus);
  if (const Id found = short_from(node.left, from, gpus); found != kNone)
    return found;
  return node.count < gpus ? root : short_from(node.right, from, gpus);
}

SpanTree::Id SpanTree::short_before(Id root, Seconds before, int gpus) const
{
  if (root == kNone || nodes_[root].least >= gpus)
    return kNone;
  const Node& node = nodes_[root];
  if (node.begin >= before)
    return short_before(node.left, before, gpus);
  if (const Id found = short_before(node.right, before, gpus); found != kNone)
    return found;
  return node.count < gpus ? root : short_before(node.left, before, gpus);
}

SpanTree::Id SpanTree::cut(Seconds time)
{
  if (time == kNever)
    return kNone;
  const Id in = at(time);
  if (nodes_[in].begin >= time)
    return in;
  const Id id = make(time, free_[in]);
  const Id after = nodes_[in].next;
  nodes_[id].previous = in;
  nodes_[id].next = after;
  nodes_[in].next = id;
  if (after != kNone)
    nodes_[after].previous = id;
  root_ = insert(root_, id);
  return id;
}

void SpanTree::join(Id id)
{
  const Id before = nodes_[id].previous, after = nodes_[id].next;
  root_ = erase(root_, id);
  if (before == kNone)
    first_ = after;
  else
    nodes_[before].next = after;
  if (after != kNone)
    nodes_[after].previous = before;
  unused_.push_back(id);
}

void SpanTree::forget_before(Seconds time)
{
  while (next(first_) != kNone && begin(next(first_)) <= time)
    join(first_);
  nodes_[first_].begin = std::max(nodes_[first_].begin, time);
}

void SpanTree::remove(const Allocation& gpus, Seconds from, Seconds until)
{
  change(root_, from, until, [&](GpuSet& free) { free.remove(gpus); });
}

void SpanTree::add(const Allocation& gpus, Seconds from, Seconds until)
{
  change(root_, from, until, [&](GpuSet& free) { free.add(gpus); });
}

template <class Change>
void SpanTree::change(Id root, Seconds from, Seconds until, const Change& change_free)
{
  if (root == kNone)
    return;
  if (nodes_[root].begin >= from)
    change(nodes_[root].left, from, until, change_free);
  if (nodes_[root].begin < until)
    change(nodes_[root].right, from, until, change_free);
  if (nodes_[root].begin >= from && nodes_[root].begin < until) {
    change_free(free_[root]);
    nodes_[root].count = free_[root].count();
  }
  pull(root);
}

SpanTree::Id SpanTree::make(Seconds begin, const GpuSet& free)
{
  Id id = static_cast<Id>(nodes_.size());
  if (unused_.empty()) {
    nodes_.emplace_back();
    free_.push_back(free); // push_back may be given one of its own
  } else {
    id = unused_.back();
    unused_.pop_back();
    free_[id] = free;
  }
  drawn_ ^= drawn_ << 13; // xorshift (Marsaglia, Journal of Statistical Software 2003)
  drawn_ ^= drawn_ >> 17;
  drawn_ ^= drawn_ << 5;
  const int count = free_[id].count();
  nodes_[id] = {begin, kNone, kNone, kNone, kNone, drawn_, count, count, count};
  return id;
}

void SpanTree::pull(Id id)
{
  Node& node = nodes_[id];
  node.most = node.least = node.count;
  for (const Id child : {node.left, node.right})
    if (child != kNone) {
      node.most = std::max(node.most, nodes_[child].most);
      node.least = std::min(node.least, nodes_[child].least);
    }
}

SpanTree::Id SpanTree::insert(Id root, Id id)
{
  if (root == kNone)
    return id;
  if (nodes_[id].priority > nodes_[root].priority) {
    split(root, nodes_[id].begin, nodes_[id].left, nodes_[id].right);
    pull(id);
    return id;
  }
  Id& side = nodes_[id].begin < nodes_[root].begin ? nodes_[root].left : nodes_[root].right;
  side = insert(side, id);
  pull(root);
  return root;
}

SpanTree::Id SpanTree::erase(Id root, Id id)
{
  if (root == id)
    return merge(nodes_[id].left, nodes_[id].right);
  Id& side = nodes_[id].begin < nodes_[root].begin ? nodes_[root].left : nodes_[root].right;
  side = erase(side, id);
  pull(root);
  return root;
}

SpanTree::Id SpanTree::merge(Id earlier, Id later)
{
  if (earlier == kNone || later == kNone)
    return earlier == kNone ? later : earlier;
  if (nodes_[earlier].priority > nodes_[later].priority) {
    nodes_[earlier].right = merge(nodes_[earlier].right, later);
    pull(earlier);
    return earlier;
  }
  nodes_[later].left = merge(earlier, nodes_[later].left);
  pull(later);
  return later;
}

void SpanTree::split(Id root, Seconds time, Id& earlier, Id& later)
{
  if (root == kNone) {
    earlier = later = kNone;
  } else if (nodes_[root].begin < time) {
    earlier = root;
    split(nodes_[root].right, time, nodes_[root].right, later);
    pull(root);
  } else {
    later = root;
    split(nodes_[root].left, time, earlier, nodes_[root].left);
    pull(root);
  }
}

} // namespace foretrain::models::fleet
