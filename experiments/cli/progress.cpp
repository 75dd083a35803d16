#include "experiments/cli/progress.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iostream>

#include <fmt/format.h>

namespace foretrain::cli {

namespace {

constexpr int kBarWidth = 24;

std::string left_text(double seconds)
{
  const auto whole = std::llround(seconds);
  if (whole < 60)
    return fmt::format("{} s", whole);
  if (whole < 3600)
    return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  const auto minutes = std::llround(seconds / 60);
  return fmt::format("{} h {:02} min", minutes / 60, minutes % 60);
}

} // namespace

std::string progress_text(int done, int total, int first, double seconds, const std::string& unit)
{
  const int filled = total > 0 ? kBarWidth * std::min(done, total) / total : kBarWidth;
  std::string text = fmt::format(
      "[{}{}] {}/{} {}", std::string(static_cast<std::size_t>(filled), '#'),
      std::string(static_cast<std::size_t>(kBarWidth - filled), '-'), done, total, unit);
  const double rate = seconds > 0 ? (done - first) / seconds : 0;
  if (rate > 0)
    text += fmt::format(", {:.3g}/s, {} left", rate, left_text((total - done) / rate));
  return text;
}

namespace {
// For programs that draw a bar of their own.
bool by_lines()
{
  const char* const how = std::getenv("FORETRAIN_PROGRESS");
  return how != nullptr && std::string(how) == "lines";
}
} // namespace

void ProgressBar::show(int done, int total)
{
  static const bool lines = by_lines();
  static const bool terminal = isatty(STDERR_FILENO) == 1;
  const auto now = Clock::now();
  if (first_ < 0)
    first_ = std::max(0, done - 1);
  if (lines && (now >= next_line_ || done == total)) {
    next_line_ = now + std::chrono::milliseconds(200);
    std::cerr << fmt::format("progress: {}/{} {}\n", done, total, unit_) << std::flush;
  }
  if (!terminal || lines || now < next_)
    return;
  next_ = now + std::chrono::milliseconds(200);
  const double seconds = std::chrono::duration<double>(now - start_).count();
  std::cerr << "\r\033[K" << progress_text(done, total, first_, seconds, unit_) << std::flush;
  shown_ = true;
}

void ProgressBar::clear()
{
  if (shown_)
    std::cerr << "\r\033[K" << std::flush;
  shown_ = false;
}

} // namespace foretrain::cli
