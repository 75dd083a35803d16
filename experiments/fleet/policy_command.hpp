// A policy of the user's own: a process that is told, in a line of JSON, who waits and what is
// free, and answers with a line of JSON which jobs start (docs/fleet.md).
#pragma once

#include "models/fleet/decided.hpp"

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace foretrain::experiments {

class PolicyCommand {
public:
  /// Starts `command` with a shell. Throws UsageError.
  explicit PolicyCommand(std::string command);
  PolicyCommand(const PolicyCommand&) = delete;
  PolicyCommand& operator=(const PolicyCommand&) = delete;
  /// Closes its standard input, and ends it where it does not end by itself.
  ~PolicyCommand();

  /// Throws UsageError when it ends, is silent for `patience`, or answers nonsense.
  models::fleet::Decisions decide(const models::fleet::Scheduler& scheduler,
                                  const models::fleet::Workload& workload, std::uint64_t seed);

  void set_patience(std::chrono::milliseconds patience) { patience_ = patience; }

private:
  [[noreturn]] void fail(const std::string& what);
  void send(const std::string& text);
  std::string line();
  std::string how_it_ended();

  std::string command_;
  pid_t pid_ = -1;
  int socket_ = -1;
  std::string unread_;
  std::chrono::milliseconds patience_{60000};
};

} // namespace foretrain::experiments
