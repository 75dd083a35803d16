// Seeds of fleets that have been simulated, a file each in a folder: what a killed process, an
// earlier run or another machine has done is not done again.
#pragma once

#include "experiments/fleet/fleet.hpp"

#include <optional>
#include <string>

namespace foretrain::experiments {

/// What the seeds of a fleet depend on, as one short text: the program (version and build), the
/// fleet, the files that it names, the presets of its jobs, whether jobs of the same second change
/// places, and the scale of its intervals. Not how many seeds there are. Throws ConfigError where a
/// file cannot be read.
std::string fingerprint(const LoadedFleet& fleet, bool ties);

class KeptSeeds {
public:
  /// A folder, which must be there.
  explicit KeptSeeds(std::string folder) : folder_(std::move(folder)) {}

  /// What was kept under a name; what it has learnt of speeds the table knows afterwards. None
  /// where nothing was, or the file is damaged.
  std::optional<models::fleet::FleetResult> find(const std::string& name, SpeedTable& table);
  /// The file is there whole or not at all. Throws UsageError where it can't be written.
  void keep(const std::string& name, const models::fleet::FleetResult& result,
            const Situations& learnt) const;

  int found() const { return found_; }
  int damaged() const { return damaged_; }

private:
  std::string path_of(const std::string& name) const;

  std::string folder_;
  int found_ = 0;
  int damaged_ = 0;
};

} // namespace foretrain::experiments
