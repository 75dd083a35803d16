// A sweep as a job array of Slurm, and a job after it that collects.
#pragma once

#include <string>
#include <vector>

namespace foretrain::cli {

struct SlurmSweep {
  std::vector<std::string> command; // that sweeps here, with all its arguments
  std::string store;                // beside which scripts and logs are put
  int tasks = 0;                    // 0: 16
  std::vector<std::string> options; // for sbatch
};

/// Writes STORE.sbatch and STORE.collect.sbatch and submits them; the second waits for the first.
/// Returns the exit code. Throws UsageError when there is no sbatch or it refuses.
int submit_to_slurm(const SlurmSweep& sweep, std::size_t points);

} // namespace foretrain::cli
