#include "experiments/api/schemas.hpp"

#include "calibration/profile.hpp"
#include "experiments/answers/compare.hpp"
#include "experiments/answers/explain.hpp"
#include "experiments/answers/plan_answer.hpp"
#include "experiments/answers/tune.hpp"
#include "experiments/fleet/fleet_compare.hpp"
#include "experiments/fleet/fleet_plan.hpp"
#include "experiments/fleet/fleet_when.hpp"
#include "experiments/run/keep/result_json.hpp"
#include "experiments/spec/experiment.hpp"
#include "experiments/spec/preset_kinds.hpp"
#include "experiments/spec/profiles.hpp"
#include "experiments/validate/fleet_rows.hpp"
#include "experiments/validate/founding_gate.hpp"
#include "experiments/validate/validation_gates.hpp"

namespace foretrain::experiments {

namespace {

// Files that are not presets; those that are stand in experiments/spec/preset_kinds.cpp.
struct Kind {
  const char* name;
  const char* doc;
  Json (*schema)();
  const char* folder; // of those that are bundled
};

const Kind kFiles[] = {
    {"experiment", "a cluster, its software, jobs, and what is varied", &schema_as<ExperimentSpec>,
     kExperimentKind.folder},
    {"plan", "what may be bought or changed, at which cost, and a goal", &schema_as<PlanSpec>,
     kPlanKind.folder},
    {"fleet", "a cluster, its queues and policy, and jobs that come over time",
     &schema_as<FleetSpec>, kFleetKind.folder},
    {kPolicyKind.name, "which job of a fleet runs next, and where",
     &schema_as<models::fleet::Policy>, kPolicyKind.folder},
    {"suite", "measurements to hold predictions against", &schema_as<SuiteSpec>, kSuiteKind.folder},
    {"gates", "errors of a suite that must not grow", &schema_as<GatesSpec>,
     "experiments/validation/gates"},
    {"claims", "published statements to hold predictions against", &schema_as<ClaimsFile>,
     kClaimsKind.folder},
    {"claims-gate", "claims that held, so that none is lost", &schema_as<ClaimsGate>,
     "experiments/validation/founding/gates"},
    {"fleet-rows", "what is known of clusters over time, to hold fleets against",
     &schema_as<FleetRowsFile>, kFleetRowsKind.folder},
    {"profile", "values learnt from logs of a machine, laid over presets",
     &schema_as<calibration::Profile>, kProfileKind.folder},
    {"result", "what predict, sweep and report write with --format json or --out",
     &schema_as<ExperimentResult>, ""},
    {"explain-result", "what explain writes with --format json", &schema_as<Explanation>, ""},
    {"compare-result", "what compare writes with --format json", &schema_as<CompareAnswer>, ""},
    {"plan-result", "what plan writes with --format json or --out", &schema_as<PlanAnswer>, ""},
    {"tune-result", "what tune writes with --format json", &schema_as<TuneAnswer>, ""},
    {"fleet-result", "what fleet writes with --format json or --out", &schema_as<FleetAnswer>, ""},
    {"fleet-sweep-result", "the same of a fleet file with a sweep", &schema_as<FleetSweepAnswer>,
     ""},
    {"fleet-when-result", "what fleet --when writes with --format json",
     &schema_as<FleetWhenAnswer>, ""},
    {"fleet-compare-result", "what compare writes of two fleets with --format json",
     &schema_as<FleetComparison>, ""},
    {"fleet-plan-result", "what plan writes of a fleet with --format json or --out",
     &schema_as<FleetPlanAnswer>, ""},
};

Json titled(const char* name, const char* doc, const char* folder, const Json& schema)
{
  Json whole = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                {"title", name},
                {"description", doc}};
  whole.update(schema);
  if (*folder == '\0')
    return whole; // nobody writes one
  whole["x-folder"] = folder;
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
      return titled(kind.name, kind.doc, kind.folder, kind.schema());
  for (const PresetKindEntry& preset : preset_kinds())
    if (name == preset.name)
      return titled(preset.name, preset.doc, preset.kind->folder, preset.schema());
  return nullptr;
}

std::vector<std::string> bundled_names(const std::string& name)
{
  if (const PresetKind* const kind = preset_kind(name))
    return preset_names(*kind);
  for (const Kind& kind : kFiles)
    if (name == kind.name && *kind.folder != '\0')
      return preset_names({kind.name, kind.folder});
  return {};
}

} // namespace foretrain::experiments
