// Links on one way that are equally tight: each hides what the other would bring.
#pragma once

#include "experiments/run/limits/pulled.hpp"

#include <optional>

namespace foretrain::experiments {

struct TightLinks {
  std::vector<const Lever*> levers; // at least two
  std::vector<double> alone;        // gain of throughput, relative, of each doubled
  double gain = 0;                  // with all doubled
};

/// For each job of `asked` the fewest of NVLink, PCIe, switches, adapters and main memory, which
/// what passes the host crosses, that bring together, to within a percent of throughput, what all
/// of them do; nothing for one alone, for those that save no more together than one by one, and for
/// jobs that were not asked about. `base`: throughput by job.
std::vector<std::optional<TightLinks>> tight_links(const ResolvedExperiment& experiment,
                                                   const std::vector<double>& base,
                                                   const std::vector<bool>& asked,
                                                   const RunOptions& options);

} // namespace foretrain::experiments
