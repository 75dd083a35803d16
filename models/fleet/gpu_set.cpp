#include "models/fleet/gpu_set.hpp"

#include <algorithm>

namespace foretrain::models::fleet {

int count(const Allocation& allocation)
{
  int gpus = 0;
  for (const Slice& slice : allocation)
    gpus += count(slice);
  return gpus;
}

std::uint64_t lowest(std::uint64_t gpus, int wanted)
{
  std::uint64_t taken = 0;
  for (int i = 0; i < wanted && gpus != 0; ++i) {
    taken |= gpus & (~gpus + 1);
    gpus &= gpus - 1;
  }
  return taken;
}

void GpuSet::add(const Slice& slice)
{
  std::uint64_t& word = words_[static_cast<std::size_t>(slice.node)];
  count_ += std::popcount(slice.gpus & ~word);
  word |= slice.gpus;
}

void GpuSet::remove(const Slice& slice)
{
  std::uint64_t& word = words_[static_cast<std::size_t>(slice.node)];
  count_ -= std::popcount(slice.gpus & word);
  word &= ~slice.gpus;
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
  for (std::size_t node = 0; node < words_.size(); ++node) {
    words_[node] &= other.words_[node];
    count_ += std::popcount(words_[node]);
  }
}

bool GpuSet::contains(const Allocation& allocation) const
{
  return std::all_of(allocation.begin(), allocation.end(),
                     [&](const Slice& slice) { return (slice.gpus & ~on(slice.node)) == 0; });
}

} // namespace foretrain::models::fleet
