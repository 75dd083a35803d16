// Presets: data files that can be named instead of spelled out.
//
// A reference in a file is a preset's name, a path (relative to the file that holds it; it contains
// a '/' or ends in .json), or the object itself. A preset may list other names it answers to under
// "aliases". What the overlay of the reference holds for a preset is laid over it, and
// over those that it extends (sim/base/overlay.hpp).
#pragma once

#include "sim/base/overlay.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace foretrain {

/// A family of presets: how messages call it, and its folder below the data root.
struct PresetKind {
  const char* name;   // "platform"
  const char* folder; // "platforms/data/platforms"
  bool versions =
      false; // of software: a name ends in its version, and presets stand for later ones
};

/// Where the data folders are: $FORETRAIN_DATA (or $FORETRAIN_ROOT), else what look_in() named,
/// else ../share/foretrain beside the program, else where they were to be installed, else the
/// source tree. Throws UsageError that says where it looked.
std::filesystem::path data_root();

/// Where data were installed with the library that this program is linked with. To be called before
/// anything else: data_root() looks once.
void look_in(const std::string& folder);

/// All names of a kind, sorted, without aliases.
std::vector<std::string> preset_names(const PresetKind& kind);

/// What else a preset answers to, as its file lists it.
std::vector<std::string> preset_aliases(const std::string& name, const PresetKind& kind);

/// Of a version that has no preset of its own the one that stands for it: the newest before it;
/// "" where a name, alias or file is meant.
std::string preset_for_version(const std::string& name, const PresetKind& kind);

/// The object a reference stands for, with its "extends" and overlays applied. Throws ConfigError
/// with the nearest name when there is no such preset.
Value resolve_preset(const Value& reference, const PresetKind& kind);

/// The same for a name or path given on the command line.
Value resolve_preset(const std::string& name_or_path, const PresetKind& kind,
                     OverlayPtr overlay = nullptr);

/// What overlays call the preset that a reference stands for; see PresetUse.
std::string preset_id(const Value& reference, const PresetKind& kind);

/// A reference by name as if it stood in the document of `beside`: for defaults.
Value preset_reference(const std::string& name, const Value& beside);

} // namespace foretrain
