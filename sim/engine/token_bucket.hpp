// A resource behind a token bucket, like a link shaped by `tc tbf`: after a pause it lets a burst
// through at once, on top of its rate.
#pragma once

#include "sim/engine/engine.hpp"

namespace foretrain::sim {

/// Transfers announce themselves. A transfer of u units that begins with k tokens in the bucket
/// takes (u - k) / rate on an idle resource: while it runs, the capacity is rate x u / (u - k).
/// One that begins while another runs finds the bucket empty.
class TokenBucket {
public:
  /// `burst`: units that the full bucket holds. It is full at the start.
  TokenBucket(Engine& engine, ResourceId resource, double burst);

  ResourceId resource() const { return resource_; }
  void begin(double units);
  void end();

private:
  Engine& engine_;
  ResourceId resource_;
  double rate_; // units per second
  double burst_;
  double tokens_;
  Seconds since_{}; // when the last transfer ended
  int running_ = 0;
};

} // namespace foretrain::sim
