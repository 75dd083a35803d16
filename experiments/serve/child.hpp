// A command of the program in a process of its own, with all that it may take.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace foretrain::serve {

struct ChildSetting {
  std::filesystem::path program;
  std::filesystem::path folder;         // that it runs in: paths in its input are beside it
  std::vector<std::string> environment; // NAME=VALUE, beside what this process has
  std::chrono::seconds time{60};
  std::uint64_t memory_byte = std::uint64_t{4} << 30; // of each process
  std::size_t output_byte = std::size_t{64} << 20;
  int niceness = 0;
};

enum class ChildEnd { ended, died, stopped, too_long, too_large, not_started };

struct ChildResult {
  ChildEnd end = ChildEnd::ended;
  int status = 0; // exit code; the signal where it died
  std::string output, messages;
};

/// What whoever waits for a child wants: to go on, that it stops with what it has, or that it ends
/// now.
enum class Wish { go_on, finish, end };

/// Runs it to its end; SIGPIPE is ignored in this process from then on. `watch` is called with each
/// line that it writes about its progress ("3/10 points") and, with an empty text, whenever a tenth
/// of a second has passed.
ChildResult run_child(const std::vector<std::string>& words, const std::string& input,
                      const ChildSetting& setting,
                      const std::function<Wish(const std::string&)>& watch);

} // namespace foretrain::serve
