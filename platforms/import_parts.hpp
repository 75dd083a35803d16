// Which bundled parts a machine is made of, as far as a file tells.
#pragma once

#include "platforms/import_found.hpp"
#include "platforms/import_options.hpp"

namespace foretrain::platforms {

using Notes = std::set<std::string>;

/// Names of presets as they go into a platform file; a path is made absolute. Throws UsageError
/// when there is no such preset. What was guessed is added to `notes`.
std::string gpu_preset(const FoundNode& found, const ImportOptions& options, Notes& notes);
/// Likewise, or one whose PCIe is as fast as the file says.
Json cpu_part(const FoundNode& found, const Gpu& gpu, const ImportOptions& options, Notes& notes);

/// A preset's name, or an object where no preset fits.
Json nic_part(const FoundNic& nic, const Gpu& gpu, const ImportOptions& options, Notes& notes);

/// Checks that a preset exists and returns how a file names it.
std::string checked_preset(const std::string& name, const PresetKind& kind);

} // namespace foretrain::platforms
