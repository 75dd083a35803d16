#include "experiments/learn/fit_task.hpp"

#include "experiments/spec/preset_kinds.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

// Where the schema of a kind says what is taken when a file is silent.
Json default_of(const Knob& knob)
{
  const Json* at = schema_at(knob.part.kind, knob.pointer);
  return at != nullptr && at->contains("default") ? at->at("default") : Json();
}

Measure measure_of(const Json& json)
{
  if (json.is_number())
    return {json.get<double>(), "", 1};
  return parse_measure(json.get<std::string>()).value_or(Measure{});
}

} // namespace

std::string name_of(const Knob& knob)
{
  return knob.part.kind + " " + knob.part.id + " " + knob.pointer;
}

Part part_of(const Value& reference, const PresetKind& kind)
{
  return {kind.name, preset_id(reference, kind), resolve_preset(reference, kind)};
}

Measure value_of(const Knob& knob, const Overlay& overlay)
{
  for (auto it = overlay.entries.rbegin(); it != overlay.entries.rend(); ++it)
    if (it->kind == knob.part.kind && it->preset == knob.part.id && it->pointer == knob.pointer)
      return measure_of(it->value);
  const Json::json_pointer at(knob.pointer);
  const Json& preset = knob.part.value.json();
  const Json found = preset.contains(at) ? preset.at(at) : default_of(knob);
  if (!found.is_number() && !found.is_string())
    knob.part.value.fail(fmt::format("has no value at {} to begin a fit with", knob.pointer));
  return measure_of(found);
}

} // namespace foretrain::experiments
