// Spans of time, each until the next one begins and the last for ever, with the GPUs that are free
// during it: found by time, and by how many these are, in the logarithm of their number.
#pragma once

#include "models/fleet/gpu_set.hpp"
#include "models/fleet/job.hpp"

#include <cstdint>
#include <vector>

namespace foretrain::models::fleet {

/// A treap (Seidel and Aragon, Algorithmica 1996) by the begin of spans, whose nodes know the most
/// and the least free GPUs below them.
class SpanTree {
public:
  using Id = std::uint32_t;
  static constexpr Id kNone = ~Id{0};

  SpanTree(Seconds begin, const GpuSet& free);

  Id first() const { return first_; }
  Id next(Id id) const { return nodes_[id].next; }
  Id previous(Id id) const { return nodes_[id].previous; }
  Seconds begin(Id id) const { return nodes_[id].begin; }
  Seconds end(Id id) const;
  const GpuSet& free(Id id) const { return free_[id]; }
  int count(Id id) const { return nodes_[id].count; }

  /// The span that holds a time, or the first one.
  Id at(Seconds time) const;
  /// The first span, from one on, that has so many free GPUs, or fewer.
  Id enough_from(Id from, int gpus) const;
  Id short_from(Id from, int gpus) const;
  /// The last one before a span that has fewer.
  Id short_before(Id before, int gpus) const;

  /// The span that begins at a time, which is cut where none does; kNone for never.
  Id cut(Seconds time);
  /// The span before goes on in place of one.
  void join(Id id);
  /// All before a time is forgotten.
  void forget_before(Seconds time);

  /// Of spans that begin in [from, until).
  void remove(const Allocation& gpus, Seconds from, Seconds until);
  void add(const Allocation& gpus, Seconds from, Seconds until);

private:
  struct Node {
    Seconds begin;
    Id left = kNone, right = kNone;
    Id previous = kNone, next = kNone; // in time
    std::uint32_t priority = 0;        // that of the nodes below is lower
    int count = 0;                     // of free GPUs
    int most = 0, least = 0;           // of this and all below
  };

  Id make(Seconds begin, const GpuSet& free);
  void pull(Id id);
  Id insert(Id root, Id id);
  Id erase(Id root, Id id);
  Id merge(Id earlier, Id later);
  void split(Id root, Seconds time, Id& earlier, Id& later);
  Id enough_from(Id root, Seconds from, int gpus) const;
  Id short_from(Id root, Seconds from, int gpus) const;
  Id short_before(Id root, Seconds before, int gpus) const;
  template <class Change>
  void change(Id root, Seconds from, Seconds until, const Change& change_free);

  std::vector<Node> nodes_;
  std::vector<GpuSet> free_; // by node
  std::vector<Id> unused_;
  Id root_ = kNone, first_ = kNone;
  std::uint32_t drawn_ = 1; // the last priority
};

} // namespace foretrain::models::fleet
