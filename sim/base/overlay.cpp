#include "sim/base/overlay.hpp"

namespace foretrain {

namespace {
bool is_for(const OverlayEntry& entry, const std::string& kind, const std::string& id)
{
  return entry.kind == kind && (entry.preset == id || entry.preset == "*");
}
} // namespace

std::string PresetUse::told() const
{
  const auto at = id.rfind('#');
  const auto& path = value.document()->path;
  return at == std::string::npos || path.empty() ? id : path.stem().string() + id.substr(at);
}

void lay_over(Document& document, const Overlay& overlay, const std::string& kind,
              const std::string& id)
{
  for (const OverlayEntry& entry : overlay.entries)
    if (is_for(entry, kind, id))
      set_value(document, entry.pointer, entry.value, entry.origin);
}

bool concerns(const Overlay& overlay, const std::string& kind, const std::string& id)
{
  for (const OverlayEntry& entry : overlay.entries)
    if (is_for(entry, kind, id))
      return true;
  return false;
}

std::string origin_of(const Document& document, const std::string& pointer)
{
  const Json::json_pointer at(pointer);
  if (!document.root.contains(at))
    return "";
  for (const Document* d = &document; d != nullptr; d = d->base.get()) {
    if (!d->root.contains(at) || d->root.at(at) != document.root.at(at))
      return ""; // what extends d said otherwise
    for (const auto& [set_pointer, origin] : d->overridden)
      if (is_within(pointer, set_pointer))
        return origin;
  }
  return "";
}

} // namespace foretrain
