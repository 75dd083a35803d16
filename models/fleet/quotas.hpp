// GPUs that queues may use, and what they may borrow of each other's.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace foretrain::models::fleet {

struct Quota {
  std::optional<int> gpus; // none: no limit
  bool borrow = true;      // what other queues leave unused
};

class Quotas {
public:
  /// One for each queue.
  explicit Quotas(std::vector<Quota> quotas);

  /// Whether a queue may have so many GPUs more now.
  bool allow(std::uint32_t queue, int gpus) const;
  /// Whether it may ever have so many.
  bool ever_allow(std::uint32_t queue, int gpus) const;
  void take(std::uint32_t queue, int gpus) { used_[queue] += gpus; }
  void give_back(std::uint32_t queue, int gpus) { used_[queue] -= gpus; }

private:
  bool limited(std::uint32_t queue) const { return quotas_[queue].gpus.has_value(); }

  std::vector<Quota> quotas_;
  std::vector<int> used_;
  int total_ = 0; // of all quotas
};

} // namespace foretrain::models::fleet
