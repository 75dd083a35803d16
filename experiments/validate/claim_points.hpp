// The points that claims need, each simulated once however many claims need it.
#pragma once

#include "experiments/run/workers.hpp"
#include "experiments/validate/claim_effects.hpp"
#include "experiments/validate/founding.hpp"

#include <functional>
#include <map>

namespace foretrain::experiments {

class ClaimPoints {
public:
  explicit ClaimPoints(const ClaimsFile& file) : file_(file) {}

  /// One quantity of one point.
  struct Place {
    std::size_t point = 0;
    Asked asked;
  };
  /// Notes that it is asked of an experiment with these settings (null or objects), one after the
  /// other.
  Place ask(const Value& experiment, const std::vector<Value>& settings, Asked asked);

  /// Notes that effects of parameters are needed there.
  void need_effects(const Place& place) { points_[place.point].effects = true; }

  /// Predicts all that was asked and is not known yet, effects included; `told` of points finished,
  /// of how many. False when interrupted.
  bool simulate(const RunOptions& options, int jobs, const std::function<void(int, int)>& told);

  /// Why there is no such value, with the exit code that this deserves; status 0 where there is.
  Outcome problem(const Place& place) const;
  const Json& value(const Place& place) const;
  LinearNumber number(const Place& place) const;

private:
  struct ClaimPoint {
    Point point{};
    std::set<Asked> asked{};
    Outcome outcome{}; // its status also tells that the point cannot be
    Json result{};
    bool effects = false;     // of parameters are needed, too
    bool has_effects = false; // and known
  };
  ClaimPoint make(const Value& experiment, const std::vector<Value>& settings) const;
  Value find(const Value& experiment) const;

  const ClaimsFile& file_;
  std::vector<ClaimPoint> points_;
  std::map<std::string, std::size_t> known_; // by what the point is
};

} // namespace foretrain::experiments
