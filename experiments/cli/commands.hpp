// The program: a command line in, an exit code of the public contract out.
#pragma once

namespace foretrain::cli {

/// Runs the command that `argv` names, as main's; its answer goes to standard output, everything
/// else to standard error. One simulation per process (docs/decisions/0001-simgrid.md).
int run(int argc, char** argv);

} // namespace foretrain::cli
