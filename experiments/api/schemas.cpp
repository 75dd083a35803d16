#include "experiments/api/schemas.hpp"

#include "calibration/profile.hpp"
#include "experiments/answers/plan.hpp"
#include "experiments/spec/experiment.hpp"
#include "experiments/spec/preset_kinds.hpp"
#include "experiments/validate/validation_gates.hpp"

namespace foretrain::experiments {

namespace {

// Files that are not presets; those that are stand in experiments/spec/preset_kinds.cpp.
struct Kind {
  const char* name;
  Json (*schema)();
};

const Kind kFiles[] = {
    {"experiment", &schema_as<ExperimentSpec>},
    {"plan", &schema_as<PlanSpec>},
    {"suite", &schema_as<SuiteSpec>},
    {"gates", &schema_as<GatesSpec>},
    {"profile", &schema_as<calibration::Profile>},
};

Json titled(const char* name, const Json& schema)
{
  Json whole = {{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", name}};
  whole.update(schema);
  // Any file may build on another one of its kind.
  whole["properties"]["extends"] = {{"type", "string"},
                                    {"description", "name or path of the file to build on"}};
  return whole;
}

} // namespace

std::vector<std::string> schema_names()
{
  std::vector<std::string> names;
  for (const Kind& kind : kFiles)
    names.emplace_back(kind.name);
  for (const std::string& name : preset_kind_names())
    names.push_back(name);
  return names;
}

Json schema(const std::string& name)
{
  for (const Kind& kind : kFiles)
    if (name == kind.name)
      return titled(kind.name, kind.schema());
  for (const PresetKindEntry& preset : preset_kinds())
    if (name == preset.name)
      return titled(preset.name, preset.schema());
  return nullptr;
}

} // namespace foretrain::experiments
