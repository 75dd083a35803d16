#include "experiments/api/model_import.hpp"
#include "experiments/cli/command.hpp"
#include "experiments/cli/model_import.hpp"
#include "experiments/cli/stack_argument.hpp"
#include "experiments/report/report_trace.hpp"
#include "experiments/spec/gpu_library.hpp"
#include "experiments/spec/profiles.hpp"
#include "models/collectives/library.hpp"
#include "sim/base/error.hpp"
#include "sim/base/files.hpp"

#include <iostream>
#include <optional>

namespace foretrain::cli {

namespace {

struct TraceArguments {
  std::string file, other, format = "text", html;
  std::string platform, library;
  StackArguments stack;
  std::vector<std::string> profiles;
  experiments::TracePlacement placement;
};

models::TraceSummary summary_of(const std::string& file)
{
  return models::summarise(experiments::read_trace(file, &tell_progress));
}

// What the platform would take for the recorded collectives; nothing where none was named.
std::optional<experiments::TracePrediction> prediction_for(const models::TraceSummary& summary,
                                                           const TraceArguments& a)
{
  if (a.platform.empty()) {
    if (a.placement.gpus_per_node > 0 || a.placement.nodes > 0)
      throw UsageError("-g and --nodes say where ranks are on a --platform, which is not given");
    return std::nullopt;
  }
  experiments::Profiles profiles;
  for (const std::string& name : a.profiles)
    profiles.add(name);
  const auto platform = platforms::load_platform(
      resolve_preset(a.platform, platforms::kPlatformKind, profiles.overlay));
  return experiments::predict_collectives(
      summary, platform, stack_of(a.stack, platform, profiles.overlay),
      experiments::library_for(a.library, platform.gpu, profiles.overlay), a.placement);
}

int show_trace(const TraceArguments& a)
{
  const auto summary = summary_of(a.file);
  const auto prediction = prediction_for(summary, a);
  const experiments::TracePrediction* there = prediction ? &*prediction : nullptr;
  if (!a.html.empty()) {
    write_file(a.html, experiments::trace_html(summary, there));
    std::cerr << "written to " << a.html << "\n";
  }
  if (a.html.empty() || a.format == "json")
    std::cout << (a.format == "json" ? experiments::trace_json(summary, there).dump(2) + "\n"
                                     : experiments::trace_text(summary, there));
  return done;
}

int diff_traces(const TraceArguments& a)
{
  const auto first = summary_of(a.file);
  const auto second = summary_of(a.other);
  std::cout << (a.format == "json" ? experiments::trace_diff_json(first, second).dump(2) + "\n"
                                   : experiments::trace_diff_text(first, second));
  return done;
}

} // namespace

std::function<int()> trace(CLI::App& app)
{
  const auto a = std::make_shared<TraceArguments>();
  const auto action = std::make_shared<std::function<int()>>();
  app.require_subcommand(1);
  CLI::App* shown = app.add_subcommand("show", "where the time of a recorded step went");
  shown->add_option("FILE", a->file, "a profiler's trace, plain or gzipped")->required();
  shown->add_option("--html", a->html, "write a page here");
  shown->add_option("--platform", a->platform,
                    "predict the recorded collectives on this platform, beside the recorded times");
  shown->add_option("-g,--ngpus", a->placement.gpus_per_node, "GPUs per node that ranks are on")
      ->check(CLI::Range(1, 16));
  shown->add_option("--nodes", a->placement.nodes, "nodes that all ranks are on")
      ->check(CLI::Range(1, 65536));
  shown->add_option("--stack", a->stack.stack, "host layer and transport, as of nccl-tests");
  shown->add_option("--network", a->stack.network, "transport between nodes");
  shown->add_option("--library", a->library,
                    "collective library; default nccl, nccl-2.27 on Blackwell, rccl on AMD's");
  shown->add_option("--profile", a->profiles, "calibrated parameters to lay over the presets");
  CLI::App* differ = app.add_subcommand("diff", "two recordings, or one and a prediction");
  differ->add_option("A", a->file, "a trace")->required();
  differ->add_option("B", a->other, "another, or one that predict --trace wrote")->required();
  for (CLI::App* sub : {shown, differ})
    sub->add_option("--format", a->format, "text or json")->check(CLI::IsMember({"text", "json"}));
  shown->callback([a, action] { *action = [a] { return show_trace(*a); }; });
  differ->callback([a, action] { *action = [a] { return diff_traces(*a); }; });
  return [action] { return (*action)(); };
}

} // namespace foretrain::cli
