// Spans of time, each until the next one begins and the last for ever, with the GPUs that are free
// during it: found by time, and by how many these are, in the logarithm of their number.
#pragma once

#include "models/fleet/gpu_set.hpp"
#include "models/fleet/job.hpp"

#include <cstdint>
#include <vector>

namespace foretrain::models::fleet {

/// A treap (Seidel and Aragon, Algorithmica 1996) by the begin of spans, whose nodes know the most
/// and the least free GPUs below them, and for how long 1, 2, 4, 8 ... are free without a break.
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
  /// The last one that begins before a time and has fewer.
  Id short_before(Seconds time, int gpus) const;
  /// The first span, from one on, that has so many and is followed by others that have them until
  /// `length` after its begin.
  Id long_enough_from(Id from, int gpus, Seconds length) const;

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

  // Of a node and all below: spans that follow each other and all have 1, 2, 4 ... free GPUs.
  template <class Number>
  struct RunsOf {
    Number* first_until; // of those from the first one on, or below all times
    Number* last_from;   // of those up to the last one, or kNever
    Number* longest;     // of all
  };
  using Runs = RunsOf<double>;
  using ConstRuns = RunsOf<const double>;

  struct Wanted {
    std::size_t level;
    int gpus; // of it
    Seconds length;
  };

  Id make(Seconds begin, const GpuSet& free);
  void pull(Id id);
  void pull_runs(Id id);
  void pull_to(Id root, Seconds begin);
  // The first three rows are those of no node.
  template <class Number>
  RunsOf<Number> runs_at(Number* first, Id id) const
  {
    Number* const row = first + (id + Id{1}) * 3 * levels_;
    return {row, row + levels_, row + 2 * levels_};
  }
  Runs runs(Id id) { return runs_at(runs_.data(), id); }
  ConstRuns runs(Id id) const { return runs_at(runs_.data(), id); }
  Id insert(Id root, Id id);
  Id erase(Id root, Id id);
  Id merge(Id earlier, Id later);
  void split(Id root, Seconds time, Id& earlier, Id& later);
  Id enough_from(Id root, Seconds from, int gpus) const;
  Id short_from(Id root, Seconds from, int gpus) const;
  Id short_before(Id root, Seconds before, int gpus) const;
  bool long_run_from(Id root, Seconds from, const Wanted& wanted, Seconds& since) const;
  bool long_run(Id root, const Wanted& wanted, Seconds& since) const;
  bool goes_on(Id id, const Wanted& wanted, Seconds& since) const;
  template <class Change>
  void change(Id root, Seconds from, Seconds until, const Change& change_free);

  std::vector<Node> nodes_;
  std::vector<GpuSet> free_; // by node
  int most_;                 // of GPUs
  std::size_t levels_;       // 1, 2, 4 ... of them, up to all
  std::vector<double> runs_; // seconds: by node, three rows of these levels
  std::vector<Id> unused_;
  Id root_ = kNone, first_ = kNone;
  std::uint32_t drawn_ = 1; // the last priority
};

} // namespace foretrain::models::fleet
