// Sets of a cluster's GPUs, by name: a word of bits for each node.
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
};
using Allocation = std::vector<Slice>;

inline int count(const Slice& slice)
{
  return std::popcount(slice.gpus);
}
int count(const Allocation& allocation);

/// The `wanted` lowest of some GPUs.
std::uint64_t lowest(std::uint64_t gpus, int wanted);

class GpuSet {
public:
  explicit GpuSet(int nodes) : words_(static_cast<std::size_t>(nodes), 0) {}

  int nodes() const { return static_cast<int>(words_.size()); }
  int count() const { return count_; }
  std::uint64_t on(int node) const { return words_[static_cast<std::size_t>(node)]; }
  int count_on(int node) const { return std::popcount(on(node)); }

  void add(const Slice& slice);
  void remove(const Slice& slice);
  void add(const Allocation& allocation);
  void remove(const Allocation& allocation);
  void intersect(const GpuSet& other);
  bool contains(const Allocation& allocation) const;

private:
  std::vector<std::uint64_t> words_;
  int count_ = 0;
};

} // namespace foretrain::models::fleet
