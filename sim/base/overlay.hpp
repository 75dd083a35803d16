// Values laid over presets while they are resolved, without touching their files: what a profile
// learnt from measurements, or what a study of uncertainty varies.
//
// An overlay hangs on a value (Value::overlay()), from an experiment's document on.
// resolve_preset() takes it from the reference, lays matching entries over the preset and hands it
// on, so that presets named inside presets (a platform's GPU, a framework's library) get theirs
// too.
#pragma once

#include "sim/base/document.hpp"

#include <functional>
#include <string>
#include <vector>

namespace foretrain {

struct OverlayEntry {
  std::string kind;     // "gpu"; see PresetKind
  std::string preset;   // a preset's id, or "*" for every one of the kind
  std::string pointer;  // JSON pointer inside it: "/nvlink_copy_efficiency"
  Json value;           // as a file would hold it: "12.5 GB/s", 0.93
  std::string origin;   // what messages and reports say put it there; one entry, one origin
  std::string source{}; // where the number comes from
};

/// A preset that was resolved, with everything laid over it. The id of a file is its name without
/// .json, whether it was named, reached by an alias or by a path; that of an object inside another
/// file is "FILE#POINTER".
struct PresetUse {
  std::string kind;
  std::string id;
  Value value;
  /// The id without the folder of its file, which results do not depend on.
  std::string told() const;
};

struct Overlay {
  std::vector<OverlayEntry> entries;          // where two are about one value, the later one holds
  std::function<void(const PresetUse&)> seen; // called for each preset resolved, if set
};

/// Lays the entries for this kind and id over the document; each leaves its origin in
/// Document::overridden. Throws ConfigError naming document and origin when a pointer leads
/// nowhere.
void lay_over(Document& document, const Overlay& overlay, const std::string& kind,
              const std::string& id);

/// Whether any entry is for this kind and id.
bool concerns(const Overlay& overlay, const std::string& kind, const std::string& id);

/// The origin of the entry that put the value at `pointer` there; "" when a file did.
std::string origin_of(const Document& document, const std::string& pointer);

} // namespace foretrain
