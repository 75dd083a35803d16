// Sets of a cluster's GPUs, by name: a bit for each.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

namespace foretrain::models::fleet {

/// GPUs of one node: a bit for each. 128 hold a rack of 72 that is one node.
__extension__ typedef unsigned __int128 GpuBits;
inline constexpr int kMostGpusPerNode = 128;

/// How many of some GPUs there are.
inline int count(GpuBits gpus)
{
  return std::popcount(static_cast<std::uint64_t>(gpus)) +
         std::popcount(static_cast<std::uint64_t>(gpus >> 64));
}
/// The lowest of some GPUs, which are not none.
int lowest(GpuBits gpus);
/// The `wanted` lowest of some GPUs.
GpuBits lowest(GpuBits gpus, int wanted);
/// The first `gpus` of a node, as a node of so many has them.
GpuBits first_gpus(int gpus);

struct ClusterShape {
  int nodes = 1;
  int gpus_per_node = 1;    // at most kMostGpusPerNode
  int nodes_per_switch = 0; // 0: one switch for all
  int gpus() const { return nodes * gpus_per_node; }
};

/// GPUs of one node.
struct Slice {
  int node = 0;
  GpuBits gpus = 0;
  bool operator==(const Slice&) const = default;
};
using Allocation = std::vector<Slice>;

inline int count(const Slice& slice)
{
  return count(slice.gpus);
}
int count(const Allocation& allocation);
/// In rising order.
std::vector<int> distinct_nodes(const Allocation& allocation);

/// Nodes have as many bits as the next power of two of their GPUs, so that several share a word.
class GpuSet {
public:
  explicit GpuSet(const ClusterShape& shape);

  int nodes() const { return nodes_; }
  int count() const { return count_; }
  /// No more than these can be free.
  int most() const { return nodes_ * static_cast<int>(bits_); }
  GpuBits on(int node) const { return (words_[word_of(node)] >> shift_of(node)) & mask_; }
  int count_on(int node) const { return fleet::count(on(node)); }

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
  GpuBits mask_;
  std::vector<GpuBits> words_;
  int count_ = 0;
};

} // namespace foretrain::models::fleet
