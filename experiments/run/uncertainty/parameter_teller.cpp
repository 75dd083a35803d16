#include "experiments/run/uncertainty/parameter_teller.hpp"

#include "experiments/spec/preset_kinds.hpp"

#include <algorithm>
#include <map>

namespace foretrain::experiments {

namespace {

Json value_at(const Json& json, const std::string& pointer)
{
  const Json::json_pointer at(pointer);
  return json.contains(at) ? json.at(at) : Json();
}

// How many of the documents that a preset builds on keep the value, or its silence.
int depth_of(const Value& preset, const std::string& pointer)
{
  const std::string whole = preset.pointer() + pointer;
  int depth = 0;
  for (const Document* it = preset.document().get(); it->base != nullptr; it = it->base.get()) {
    if (value_at(it->root, whole) != value_at(it->base->root, whole))
      break;
    ++depth;
  }
  return depth;
}

// The bundled presets of a kind by their full names.
const std::map<std::string, std::string>& named_presets(const std::string& kind)
{
  static std::map<std::string, std::map<std::string, std::string>> all;
  const auto [known, first] = all.try_emplace(kind);
  const PresetKind* presets = preset_kind(kind);
  if (first && presets != nullptr)
    for (const std::string& id : preset_names(*presets)) {
      const Json json = resolve_preset(id, *presets).json();
      if (json.contains("name") && json.at("name").is_string())
        known->second[json.at("name").get<std::string>()] = id;
    }
  return known->second;
}

bool same_values(const Json& a, const Json& b, const std::vector<std::string>& pointers)
{
  return std::ranges::all_of(
      pointers, [&](const std::string& it) { return value_at(a, it) == value_at(b, it); });
}

} // namespace

std::string teller_of(const PresetUse& use, const std::vector<std::string>& pointers)
{
  const auto told = [&](const std::string& it) {
    return !value_at(use.value.json(), it).is_null();
  };
  const bool any_told = std::ranges::any_of(pointers, told);
  int depth = 0;
  for (const std::string& pointer : pointers)
    if (told(pointer) || !any_told)
      depth = std::max(depth, depth_of(use.value, pointer));
  const Document* teller = use.value.document().get();
  for (int i = 0; i < depth; ++i)
    teller = teller->base.get();
  if (depth > 0 && use.value.pointer().empty())
    return teller->path.stem().string();
  const Json& json = use.value.json();
  const PresetKind* kind = preset_kind(use.kind);
  if (kind == nullptr || !json.contains("name") || !json.at("name").is_string() ||
      use.value.document()->path.parent_path() == data_root() / kind->folder)
    return use.told();
  const auto& named = named_presets(use.kind);
  const auto copied = named.find(json.at("name").get<std::string>());
  return copied != named.end() &&
                 same_values(json, resolve_preset(copied->second, *kind).json(), pointers)
             ? copied->second
             : use.told();
}

} // namespace foretrain::experiments
