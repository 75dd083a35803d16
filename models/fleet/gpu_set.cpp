#include "models/fleet/gpu_set.hpp"

#include <algorithm>

namespace foretrain::models::fleet {

namespace {

// std::popcount is a call of a function where the processor is not told to have an instruction.
int ones_of(std::uint64_t word)
{
  word -= word >> 1 & 0x5555555555555555;
  word = (word & 0x3333333333333333) + (word >> 2 & 0x3333333333333333);
  word = (word + (word >> 4)) & 0x0f0f0f0f0f0f0f0f;
  return static_cast<int>(word * 0x0101010101010101 >> 56);
}

int ones(GpuBits gpus)
{
  return ones_of(static_cast<std::uint64_t>(gpus)) +
         ones_of(static_cast<std::uint64_t>(gpus >> 64));
}

} // namespace

int count(const Allocation& allocation)
{
  int gpus = 0;
  for (const Slice& slice : allocation)
    gpus += count(slice);
  return gpus;
}

std::vector<int> distinct_nodes(const Allocation& allocation)
{
  std::vector<int> nodes;
  for (const Slice& slice : allocation)
    nodes.push_back(slice.node);
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  return nodes;
}

int lowest(GpuBits gpus)
{
  const auto low = static_cast<std::uint64_t>(gpus);
  return low != 0 ? std::countr_zero(low)
                  : 64 + std::countr_zero(static_cast<std::uint64_t>(gpus >> 64));
}

GpuBits lowest(GpuBits gpus, int wanted)
{
  GpuBits taken = 0;
  for (int i = 0; i < wanted && gpus != 0; ++i) {
    taken |= gpus & (~gpus + 1);
    gpus &= gpus - 1;
  }
  return taken;
}

GpuBits first_gpus(int gpus)
{
  return lowest(~GpuBits{0}, gpus);
}

GpuSet::GpuSet(const ClusterShape& shape)
    : nodes_(shape.nodes), bits_(std::bit_ceil(static_cast<unsigned>(shape.gpus_per_node))),
      mask_(first_gpus(shape.gpus_per_node)), words_(word_of(shape.nodes) + 1, 0)
{
}

void GpuSet::add(const Slice& slice)
{
  GpuBits& word = words_[word_of(slice.node)];
  const GpuBits gpus = (slice.gpus & mask_) << shift_of(slice.node);
  count_ += ones(gpus & ~word);
  word |= gpus;
}

void GpuSet::remove(const Slice& slice)
{
  GpuBits& word = words_[word_of(slice.node)];
  const GpuBits gpus = (slice.gpus & mask_) << shift_of(slice.node);
  count_ -= ones(gpus & word);
  word &= ~gpus;
}

void GpuSet::add(const Allocation& allocation)
{
  for (const Slice& slice : allocation)
    add(slice);
}

void GpuSet::remove(const Allocation& allocation)
{
  for (const Slice& slice : allocation)
    remove(slice);
}

void GpuSet::intersect(const GpuSet& other)
{
  count_ = 0;
  for (std::size_t i = 0; i < words_.size(); ++i) {
    words_[i] &= other.words_[i];
    count_ += ones(words_[i]);
  }
}

bool GpuSet::contains(const Allocation& allocation) const
{
  return std::all_of(allocation.begin(), allocation.end(),
                     [&](const Slice& slice) { return (slice.gpus & ~on(slice.node)) == 0; });
}

} // namespace foretrain::models::fleet
