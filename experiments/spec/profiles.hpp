// Profiles at work: read, checked against the kinds of presets they speak of, and laid over
// presets.
#pragma once

#include "calibration/profile.hpp"
#include "sim/base/catalog.hpp"

#include <string>
#include <vector>

namespace foretrain::experiments {

inline const PresetKind kProfileKind{"profile", "calibration/data/profiles"};

/// Profiles in the order in which they are laid over presets: where two are about one value, the
/// later one holds.
struct Profiles {
  std::vector<calibration::Profile> list;
  std::shared_ptr<Overlay> overlay = std::make_shared<Overlay>();

  /// Reads a profile named by `reference` (a bundled one, a path or an object) on top of the
  /// others. Throws ConfigError for unknown kinds, presets and pointers, with the nearest name.
  void add(const Value& reference);
  void add(const std::string& name_or_path);

  /// Parameters that no preset in `used` has a use for: "kind preset pointer" of each, with its
  /// place.
  std::vector<std::string> unused(const std::vector<PresetUse>& used) const;
};

} // namespace foretrain::experiments
