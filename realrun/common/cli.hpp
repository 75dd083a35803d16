// argv to function call, exceptions to exit codes; shared by the CPU twin, CUDA and the record
// tool.
#pragma once

#include "realrun/common/settings.hpp"

#include <span>

namespace foretrain::realrun {

struct Verb {
  const char* name;
  const char* arguments;
  const char* help;
  int (*run)(const CommandLine& line);
};

/// Exit codes: 0 done, 1 the answer is no (gradients differ), 2 wrong input, 3 a device, peer or
/// internal failure. Messages go to stderr, one line each, with the rank.
int run_program(int argc, const char* const* argv, const char* program,
                std::span<const Verb> verbs);

/// The only argument of a verb. Throws UsageError when there is none or more than one.
const std::string& only_argument(const CommandLine& line, const char* what);

/// make-data FOLDER key=value...: writes a dataset (see DatasetIndex). Also a verb of both
/// programs.
int make_data(const CommandLine& line);

/// Sleeps until the Unix time `start_at` (0: not at all).
void wait_until(double start_at);

} // namespace foretrain::realrun
