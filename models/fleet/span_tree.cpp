#include "models/fleet/span_tree.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace foretrain::models::fleet {

namespace {

constexpr double kForever = kNever.value();

// Of so many GPUs, or of the next fewer that runs are known of.
std::size_t level_of(int gpus)
{
  return static_cast<std::size_t>(std::bit_width(static_cast<unsigned>(std::max(1, gpus)))) - 1;
}

} // namespace

SpanTree::SpanTree(Seconds begin, const GpuSet& free)
    : most_(free.most()), levels_(level_of(most_) + 1)
{
  // Of no span.
  runs_.assign(levels_, -kForever);
  runs_.resize(2 * levels_, kForever);
  runs_.resize(3 * levels_, -kForever);
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

SpanTree::Id SpanTree::short_before(Seconds time, int gpus) const
{
  return short_before(root_, time, gpus);
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

SpanTree::Id SpanTree::long_enough_from(Id from, int gpus, Seconds length) const
{
  const std::size_t level = std::min(level_of(gpus), levels_ - 1);
  const Wanted wanted{level, 1 << level, length};
  Id found = from;
  while (found != kNone) {
    Seconds since = kNever;
    if (!long_run_from(root_, begin(found), wanted, since))
      return kNone;
    found = enough_from(at(since), gpus);
    const Id after = short_from(found, gpus);
    if (found == kNone || after == kNone || begin(after) >= begin(found) + length)
      return found;
    found = after;
  }
  return kNone;
}

// Whether a run that is long enough goes on, or begins, at a span or behind it: `since` when.
bool SpanTree::long_run_from(Id root, Seconds from, const Wanted& wanted, Seconds& since) const
{
  if (root == kNone)
    return false;
  if (begin(root) < from)
    return long_run_from(nodes_[root].right, from, wanted, since);
  return long_run_from(nodes_[root].left, from, wanted, since) || goes_on(root, wanted, since) ||
         long_run(nodes_[root].right, wanted, since);
}

// The same of all spans of a node, of which one is asked only where there is one.
bool SpanTree::long_run(Id root, const Wanted& wanted, Seconds& since) const
{
  if (root == kNone)
    return false;
  const ConstRuns all = runs(root);
  if (since < kNever && Seconds(all.first_until[wanted.level]) - since >= wanted.length)
    return true;
  if (Seconds(all.longest[wanted.level]) >= wanted.length)
    return long_run(nodes_[root].left, wanted, since) || goes_on(root, wanted, since) ||
           long_run(nodes_[root].right, wanted, since);
  const bool is_one = nodes_[root].least >= wanted.gpus;
  const Seconds last_from(all.last_from[wanted.level]);
  since = is_one ? std::min(since, last_from) : last_from;
  return false;
}

bool SpanTree::goes_on(Id id, const Wanted& wanted, Seconds& since) const
{
  since = count(id) >= wanted.gpus ? std::min(since, begin(id)) : kNever;
  return since < kNever && end(id) - since >= wanted.length;
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
  if (before == kNone)
    first_ = after;
  else
    nodes_[before].next = after;
  if (after != kNone)
    nodes_[after].previous = before;
  root_ = erase(root_, id);
  if (before != kNone)
    pull_to(root_, begin(before));
  unused_.push_back(id);
}

void SpanTree::forget_before(Seconds time)
{
  while (next(first_) != kNone && begin(next(first_)) <= time)
    join(first_);
  if (begin(first_) < time) {
    nodes_[first_].begin = time;
    pull_to(root_, time);
  }
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
    runs_.resize(runs_.size() + 3 * levels_);
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
  pull(id);
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
  pull_runs(id);
}

// Without branches, so that it is done for several numbers of GPUs at once.
void SpanTree::pull_runs(Id id)
{
  const Node& node = nodes_[id];
  const double end = this->end(id).value(), begin = node.begin.value();
  const int least_before = node.left == kNone ? most_ : nodes_[node.left].least;
  const int least_after = node.right == kNone ? most_ : nodes_[node.right].least;
  const ConstRuns before = std::as_const(*this).runs(node.left);
  const ConstRuns after = std::as_const(*this).runs(node.right);
  const Runs all = runs(id);
  for (std::size_t level = 0; level < levels_; ++level) {
    const int gpus = 1 << level;
    const bool enough = node.count >= gpus; // so that runs before and after are one
    const double until = enough ? std::max(end, after.first_until[level]) : -kForever;
    const double from = enough ? std::min(begin, before.last_from[level]) : kForever;
    all.longest[level] = std::max({before.longest[level], until - from, after.longest[level]});
    all.first_until[level] = least_before >= gpus ? std::max(before.first_until[level], until)
                                                  : before.first_until[level];
    all.last_from[level] =
        least_after >= gpus ? std::min(after.last_from[level], from) : after.last_from[level];
  }
}

// After the span that begins at a time became longer or shorter.
void SpanTree::pull_to(Id root, Seconds begin)
{
  if (nodes_[root].begin != begin)
    pull_to(begin < nodes_[root].begin ? nodes_[root].left : nodes_[root].right, begin);
  pull(root);
}

SpanTree::Id SpanTree::insert(Id root, Id id)
{
  if (root == kNone) {
    pull(id);
    return id;
  }
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

// join() pulls all that the span before stands in, which is what this changes.
SpanTree::Id SpanTree::merge(Id earlier, Id later)
{
  if (earlier == kNone || later == kNone)
    return earlier == kNone ? later : earlier;
  if (nodes_[earlier].priority > nodes_[later].priority) {
    nodes_[earlier].right = merge(nodes_[earlier].right, later);
    return earlier;
  }
  nodes_[later].left = merge(earlier, nodes_[later].left);
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
