// Pieces of work as a job array of Slurm, and a job after it that collects.
#pragma once

#include <string>
#include <vector>

namespace foretrain::cli {

struct SlurmArray {
  std::vector<std::string> command; // that does it all here, with all its arguments
  std::string store;                // beside which scripts and logs are put
  int tasks = 0;                    // 0: 16
  std::vector<std::string> options; // for sbatch
};

/// Writes STORE.sbatch and STORE.collect.sbatch and submits them; the second waits for the first.
/// Returns the exit code. Throws UsageError when there is no sbatch or it refuses. `noun` is what
/// the pieces are called.
int submit_to_slurm(const SlurmArray& array, std::size_t pieces, const std::string& noun);

/// This program's file, for commands that other machines run.
std::string this_program();

} // namespace foretrain::cli
