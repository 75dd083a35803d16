// What nccl-tests would print on a machine that is only described.
#pragma once

#include "models/collectives/collective.hpp"
#include "platforms/machine.hpp"

#include <string>
#include <vector>

namespace foretrain::experiments {

/// A program of nccl-tests: which collective, and busbw = factor(ranks) x algbw (its
/// doc/PERFORMANCE.md).
struct NcclTest {
  const char* program;
  models::Operation operation;
  double (*bus_factor)(int ranks);
};
const NcclTest* find_nccl_test(const std::string& program);
std::vector<std::string> nccl_test_names();

struct NcclTestsOptions {
  int nodes = 1;
  int gpus_per_node = 1;
  double begin = 32.0 * 1024 * 1024; // bytes
  double end = 32.0 * 1024 * 1024;
  double factor = 0;              // sizes grow by this, or
  double increment = 1024 * 1024; // by so many bytes
  std::vector<double> sizes;      // these instead, if any
  int gpus_per_thread = 1;        // that a thread launches its calls on, one after the other
  int element_size = 4;
  std::string algorithm = "auto";
  models::Fidelity fidelity = models::Fidelity::coupled;
  Value library;
};

struct NcclTestsRow {
  double size = 0;                // bytes, rounded down to whole elements of all ranks
  double count = 0;               // elements
  double time = 0;                // seconds
  double algorithm_bandwidth = 0; // bytes per second
  double bus_bandwidth = 0;
  models::Collective::Choice choice;
  models::Collective::Choice quickest; // on an idle machine; the library may expect otherwise
};

std::vector<NcclTestsRow> run_nccl_test(const NcclTest& test,
                                        const platforms::PlatformSpec& platform,
                                        const platforms::Stack& stack,
                                        const NcclTestsOptions& options);

/// What the library could take for an all-reduce of `size` bytes, what it takes first.
std::vector<models::Collective::Choice> all_reduce_choices(const platforms::PlatformSpec& platform,
                                                           const platforms::Stack& stack,
                                                           const NcclTestsOptions& options,
                                                           Bytes size);

} // namespace foretrain::experiments
