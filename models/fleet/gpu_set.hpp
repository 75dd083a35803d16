// Sets of a cluster's GPUs, by name: a bit for each.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

namespace foretrain::models::fleet {

inline constexpr int kMostGpusPerNode = 64;

struct ClusterShape {
  int nodes = 1;
  int gpus_per_node = 1;    // at most kMostGpusPerNode
  int nodes_per_switch = 0; // 0: one switch for all
  int gpus() const { return nodes * gpus_per_node; }
};

/// GPUs of one node.
struct Slice {
  int node = 0;
  std::uint64_t gpus = 0; // a bit for each
  bool operator==(const Slice&) const = default;
};
using Allocation = std::vector<Slice>;

inline int count(const Slice& slice)
{
  return std::popcount(slice.gpus);
}
int count(const Allocation& allocation);
/// In rising order.
std::vector<int> distinct_nodes(const Allocation& allocation);

/// The `wanted` lowest of some GPUs.
std::uint64_t lowest(std::uint64_t gpus, int wanted);

/// Nodes have as many bits as the next power of two of their GPUs, so that several share a word.
class GpuSet {
public:
  explicit GpuSet(const ClusterShape& shape);

  int nodes() const { return nodes_; }
  int count() const { return count_; }
  /// No more than these can be free.
  int most() const { return nodes_ * static_cast<int>(bits_); }
  std::uint64_t on(int node) const { return (words_[word_of(node)] >> shift_of(node)) & mask_; }
  int count_on(int node) const { return std::popcount(on(node)); }

  void add(const Slice& slice);
  void remove(const Slice& slice);
  void add(const Allocation& allocation);
  void remove(const Allocation& allocation);
  void intersect(const GpuSet& other);
  bool contains(const Allocation& allocation) const;
  bool operator==(const GpuSet& other) const = default;

private:
  std::size_t word_of(int node) const
  {
    return static_cast<std::size_t>(node) * bits_ / kMostGpusPerNode;
  }
  unsigned shift_of(int node) const
  {
    return static_cast<unsigned>(node) * bits_ % static_cast<unsigned>(kMostGpusPerNode);
  }

  int nodes_;
  unsigned bits_;
  std::uint64_t mask_;
  std::vector<std::uint64_t> words_;
  int count_ = 0;
};

} // namespace foretrain::models::fleet
