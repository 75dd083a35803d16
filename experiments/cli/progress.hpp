// How far a command is, on a terminal, once it takes long enough to wonder.
#pragma once

#include <chrono>
#include <string>

namespace foretrain::cli {

/// A bar with rate and time left on stderr: from the second second on, five times a second, and
/// only where stderr is a terminal. It is gone when the object is. With FORETRAIN_PROGRESS=lines
/// in the environment "progress: DONE/TOTAL UNIT" on lines of their own instead, from the start on.
class ProgressBar {
public:
  explicit ProgressBar(std::string unit) : unit_(std::move(unit)) {}
  ~ProgressBar() { clear(); }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void show(int done, int total);
  void clear();

private:
  using Clock = std::chrono::steady_clock;
  std::string unit_; // "points"
  Clock::time_point start_ = Clock::now();
  Clock::time_point next_ = start_ + std::chrono::seconds(2);
  Clock::time_point next_line_ = start_;
  int first_ = -1; // done when it was first told: not this run's work
  bool shown_ = false;
};

/// "[######----] 60/100 points, 12/s, 3 s left"; `seconds` since the start for `done - first`.
std::string progress_text(int done, int total, int first, double seconds, const std::string& unit);

} // namespace foretrain::cli
