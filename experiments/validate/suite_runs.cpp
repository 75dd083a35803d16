#include "experiments/validate/suite_runs.hpp"

#include "experiments/run/keep/result_json.hpp"
#include "experiments/run/scenario.hpp"
#include "experiments/run/uncertainty/call_ranges.hpp"
#include "experiments/spec/gpu_library.hpp"
#include "experiments/spec/graph_rules.hpp"
#include "experiments/spec/resolve.hpp"
#include "platforms/show.hpp"
#include "sim/base/catalog.hpp"
#include "sim/base/text.hpp"

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

// What stands in the suite, or a default as if it stood there: profiles reach both.
Value or_default(const Value& reference, const char* name, const PresetKind& kind,
                 const Value& beside)
{
  return resolve_preset(reference ? reference : preset_reference(name, beside), kind);
}

} // namespace

SuiteRun point_run(Point point)
{
  return [point = std::move(point)](RunOptions options) {
    options.doubles_limits = false;
    Json json = to_json(run_point(point, options));
    json.erase("parameters");
    return json;
  };
}

namespace {

CallMachine machine_of(const SuiteTable& table)
{
  const auto platform = platforms::load_platform(table.platform);
  StackSpec stack{table.host, table.transport};
  return {
      platform, resolve_stack(stack, nullptr, platform, table.platform),
      or_default(table.library, usual_library(platform.gpu), models::kLibraryKind, table.platform)};
}

// The machine of a table, with other parameters below what its suite has.
CallMachineWith machine_with(const Value& at)
{
  return
      [at](const OverlayPtr& overlay) { return machine_of(read_as<SuiteTable>(at.with(overlay))); };
}

} // namespace

SuiteRun table_run(const SuiteTable& table, const Value& at,
                   const std::shared_ptr<const Profiles>& profiles)
{
  const NcclTest* test = find_nccl_test(table.program);
  if (test == nullptr)
    at.at("program").fail("is not a program of nccl-tests: '" + excerpt(table.program) + "'",
                          suggestion(table.program, nccl_test_names(), "programs"));
  const CallMachine machine = machine_of(table);
  if (table.gpus_per_node > machine.platform.gpus_per_node())
    at.fail_at("gpus_per_node",
               fmt::format("is {}, but '{}' has {} GPUs per node", table.gpus_per_node,
                           machine.platform.name, machine.platform.gpus_per_node()));
  NcclTestsOptions tests;
  tests.nodes = table.nodes;
  tests.gpus_per_node = table.gpus_per_node;
  tests.gpus_per_thread = table.gpus_per_thread;
  tests.algorithm = table.algorithm;
  tests.library = machine.library;
  for (const auto& row : table.rows)
    tests.sizes.push_back(row.at(0));
  return
      [test, machine, tests, profiles, with_other = machine_with(at)](const RunOptions& options) {
        NcclTestsOptions with = tests;
        with.fidelity = options.fidelity;
        const auto rows = run_nccl_test(*test, machine.platform, machine.stack, with);
        Json json = Json::array();
        for (const CallRange& it :
             call_ranges(*test, with_other, with, rows, profiles, options.uncertainty.interval))
          json.push_back(written(it.time));
        return json;
      };
}

SuiteRun copies_run(const SuiteCopies& copies)
{
  const auto platform = platforms::load_platform(copies.platform);
  StackSpec usual;
  const auto stack = resolve_stack(usual, nullptr, platform, copies.platform);
  return [platform, stack, quantity = copies.quantity,
          peer_access = copies.peer_access](const RunOptions&) {
    const auto all = platforms::peer_matrix(platform, stack, peer_access);
    const auto& matrix = quantity == "one_way"     ? all.one_way
                         : quantity == "both_ways" ? all.both_ways
                                                   : all.latency;
    const double si = quantity == "latency" ? 1e-6 : 1e9;
    Json json = Json::array();
    for (const auto& line : matrix) {
      json.push_back(Json::array());
      for (const double value : line)
        json.back().push_back(value * si);
    }
    return json;
  };
}

} // namespace foretrain::experiments
