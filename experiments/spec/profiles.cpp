#include "experiments/spec/profiles.hpp"

#include "experiments/spec/preset_kinds.hpp"
#include "sim/base/text.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

// Follows a pointer through the JSON Schema of a kind; refuses the first step that it does not
// know.
void check_pointer(const std::string& kind, const Value& pointer)
{
  const Json* at = &preset_schema(kind);
  std::string walked;
  for (const std::string& step : pointer_steps(pointer.json().get<std::string>())) {
    if (at->contains("items") && at->value("type", "") == "array") {
      if (step.empty() || step.find_first_not_of("0123456789") != std::string::npos)
        pointer.fail(fmt::format("{} is a list: '{}' is not a place in it", walked, excerpt(step)),
                     "entries are numbered from 0");
      at = &at->at("items");
    } else if (at->contains("properties")) {
      std::vector<std::string> known;
      for (const auto& item : at->at("properties").items())
        known.push_back(item.key());
      if (!at->at("properties").contains(step))
        pointer.fail(fmt::format("leads nowhere in a {}: '{}' is not a key of {}", kind,
                                 excerpt(step), walked.empty() ? "it" : walked),
                     suggestion(step, known, "keys"));
      at = &at->at("properties").at(step);
    } else {
      return; // free form, or a preset of its own: reading it will tell
    }
    walked += "/" + step;
  }
}

OverlayEntry entry_of(const calibration::ProfileParameter& p, const Value& at)
{
  const PresetKind* const kind = preset_kind(p.kind);
  if (kind == nullptr)
    at.at("kind").fail("is not a kind of preset: '" + excerpt(p.kind) + "'",
                       suggestion(p.kind, preset_kind_names(), "kinds"));
  check_pointer(p.kind, at.at("pointer"));
  OverlayEntry entry{p.kind,  p.preset, p.pointer, p.value.json(), "profile " + at.where(),
                     p.source};
  if (p.preset != "*" && p.preset.find('#') == std::string::npos)
    entry.preset = resolve_preset(at.at("preset"), *kind).document()->path.stem().string();
  return entry;
}

void add_to(Profiles& profiles, const Value& root)
{
  auto profile = calibration::read_profile(root);
  for (std::size_t i = 0; i < profile.parameters.size(); ++i)
    profiles.overlay->entries.push_back(
        entry_of(profile.parameters[i], root.at("parameters").at(i)));
  profiles.list.push_back(std::move(profile));
}

// Whether a preset, or one that it extends, took a value from this entry or from a later one that
// overrides it.
bool took(const PresetUse& use, const OverlayEntry& entry)
{
  if (use.kind != entry.kind)
    return false;
  for (const Document* d = use.value.document().get(); d != nullptr; d = d->base.get())
    if (d->overridden.count(entry.pointer) > 0 &&
        (entry.preset == "*" || entry.preset == use.id || entry.preset == d->path.stem()))
      return true;
  return false;
}

} // namespace

void Profiles::add(const Value& reference)
{
  add_to(*this, resolve_preset(reference, kProfileKind));
}

void Profiles::add(const std::string& name_or_path)
{
  add_to(*this, resolve_preset(name_or_path, kProfileKind));
}

std::vector<std::string> Profiles::unused(const std::vector<PresetUse>& used) const
{
  std::vector<std::string> lines;
  for (const OverlayEntry& entry : overlay->entries) {
    if (std::none_of(used.begin(), used.end(),
                     [&](const PresetUse& use) { return took(use, entry); }))
      lines.push_back(
          fmt::format("{} {} {} ({})", entry.kind, entry.preset, entry.pointer, entry.origin));
  }
  return lines;
}

} // namespace foretrain::experiments
