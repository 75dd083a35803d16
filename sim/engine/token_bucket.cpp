#include "sim/engine/token_bucket.hpp"

#include <algorithm>

namespace foretrain::sim {

namespace {
constexpr double kAtOnce = 1e6; // times the rate, for what fits into the bucket
}

TokenBucket::TokenBucket(Engine& engine, ResourceId resource, double burst)
    : engine_(engine), resource_(resource), rate_(engine.capacity(resource)), burst_(burst),
      tokens_(burst)
{
}

void TokenBucket::begin(double units)
{
  if (running_++ > 0) {
    engine_.set_capacity(resource_, rate_);
    return;
  }
  tokens_ = std::min(burst_, tokens_ + rate_ * (engine_.now() - since_).value());
  const double used = std::min(tokens_, units);
  engine_.set_capacity(resource_,
                       rate_ * std::min(kAtOnce, units / std::max(units - used, 1e-300)));
  tokens_ -= used;
}

void TokenBucket::end()
{
  if (--running_ > 0)
    return;
  engine_.set_capacity(resource_, rate_);
  since_ = engine_.now();
}

} // namespace foretrain::sim
