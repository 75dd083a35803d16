// Runs numbered pieces of work in processes of their own, several at a time: SimGrid's engine is
// one per process, and a crash or a kill takes one piece with it, not the others.
#pragma once

#include <chrono>
#include <functional>
#include <string>

namespace foretrain::experiments {

struct Outcome {
  int status = 0; // exit code that the piece deserves: 0, 2 wrong input, 3 internal error
  std::string text;
};

constexpr std::chrono::milliseconds kQuiet{250};

/// Calls work(i) for i in [0, count) in `jobs` child processes at a time and done(i, outcome) here,
/// in the order of completion, and idle() whenever none has come for kQuiet. Ctrl-C ends the
/// children; returns false then, true otherwise.
bool run_workers(int count, int jobs, const std::function<Outcome(int)>& work,
                 const std::function<void(int, const Outcome&)>& done,
                 const std::function<void()>& idle = {});

} // namespace foretrain::experiments
