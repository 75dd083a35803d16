#include "experiments/api/preset_list.hpp"
#include "experiments/cli/command.hpp"
#include "experiments/cli/import.hpp"
#include "experiments/run/simulate/nccl_tests.hpp"
#include "experiments/spec/gpu_library.hpp"
#include "experiments/spec/graph_rules.hpp"
#include "platforms/show.hpp"
#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <cmath>
#include <iostream>

namespace foretrain::cli {

namespace {

using namespace platforms;

struct PlatformArguments {
  std::string name;
  std::string host = "bare-metal";
  std::string network;
  std::string to = "simgrid";
  int gpus = 0;
  int nodes = 1;
  bool rings = false;
  bool graphs = false;
  std::string library;
};

Stack stack_for(const PlatformArguments& a, const PlatformSpec& spec)
{
  bool rdma = false;
  for (const auto& nic : spec.nics)
    rdma |= nic.rdma;
  const std::string network = !a.network.empty() ? a.network : rdma ? "rdma" : "tcp";
  return {load_host(resolve_preset(a.host, kHostKind)),
          load_transport(resolve_preset(network, kTransportKind))};
}

int list_platforms()
{
  std::cout << experiments::preset_list_text(experiments::preset_list(kPlatformKind.name));
  return done;
}

int show_graphs(const PlatformArguments& a, const PlatformSpec& spec, const Stack& stack)
{
  experiments::NcclTestsOptions options;
  options.nodes = a.nodes;
  options.gpus_per_node = a.gpus > 0 ? a.gpus : spec.gpus_per_node();
  options.library = experiments::library_for(a.library, spec.gpu);
  if (options.gpus_per_node > spec.gpus_per_node())
    throw UsageError(fmt::format("-g {}: '{}' has {} GPUs per node", options.gpus_per_node,
                                 spec.name, spec.gpus_per_node()));
  if (options.gpus_per_node * options.nodes < 2)
    throw UsageError("one GPU exchanges nothing: give -g 2 or more, or --nodes");
  const auto library = models::load_device_library(options.library);
  std::cout << graphs_text(spec, stack, options.gpus_per_node, options.nodes,
                           experiments::graph_rules(library).search);
  std::cout << fmt::format("all-reduce with {}, GB/s of the buffer on an idle machine, 1 GiB\n",
                           library.name);
  const Bytes large(1024.0 * 1024 * 1024);
  for (const auto& it : experiments::all_reduce_choices(spec, stack, options, large))
    std::cout << fmt::format(
        "  {:16} {:8} {:8.2f}   call {:>9}   {}\n", it.algorithm, it.protocol,
        large.value() / it.time.value() / 1e9, to_text(it.latency),
        std::isfinite(it.expected)
            ? fmt::format("the library expects {:.2f}", large.value() / it.expected / 1e9)
            : "not considered by the library");
  return done;
}

int show(const PlatformArguments& a)
{
  const auto spec = load_platform(a.name);
  const Stack stack = stack_for(a, spec);
  if (a.graphs)
    return show_graphs(a, spec, stack);
  if (!a.rings && a.gpus == 0) {
    std::cout << platform_text(spec, stack);
    return done;
  }
  const int most = spec.gpus_per_node() * spec.max_nodes;
  const int gpus = a.gpus > 0 ? a.gpus : spec.gpus_per_node();
  if (gpus > most)
    throw UsageError("-g " + std::to_string(gpus) + ": '" + spec.name + "' has at most " +
                     std::to_string(most) + " GPUs");
  std::cout << rings_text(spec, stack, gpus);
  return done;
}

int check(const PlatformArguments& a)
{
  const auto spec = load_platform(a.name);
  std::cout << spec.name << ": ok, " << spec.gpus_per_node() << " GPUs per node, up to "
            << spec.max_nodes << " nodes\n";
  return done;
}

int export_to(const PlatformArguments& a)
{
  const auto spec = load_platform(a.name);
  if (a.nodes > spec.max_nodes)
    throw UsageError("--nodes " + std::to_string(a.nodes) + ": '" + spec.name + "' has at most " +
                     std::to_string(spec.max_nodes));
  std::cout << (a.to == "simgrid" ? to_simgrid_xml(spec, a.nodes) : to_graphviz(spec));
  return done;
}

} // namespace

std::function<int()> platform(CLI::App& app)
{
  const auto a = std::make_shared<PlatformArguments>();
  const auto action = std::make_shared<std::function<int()>>();
  app.require_subcommand(1);
  const auto add = [&](const char* name, const char* summary,
                       int (*run)(const PlatformArguments&)) {
    CLI::App* sub = app.add_subcommand(name, summary);
    sub->add_option("PLATFORM", a->name, "name or file of a platform")->required();
    sub->callback([a, action, run] { *action = [a, run] { return run(*a); }; });
    return sub;
  };
  app.add_subcommand("list", "all bundled platforms")->callback([action] {
    *action = list_platforms;
  });
  CLI::App* shown = add("show", "topology, bandwidths, latencies, bisection", show);
  shown->add_flag("--rings", a->rings, "show the rings of collectives instead");
  shown->add_flag("--graphs", a->graphs,
                  "show what a collective library finds and assumes: rings, trees, in-switch "
                  "reduction, their channels and bandwidths");
  shown
      ->add_option("-g,--gpus", a->gpus, "over the first so many GPUs; with --graphs: of each node")
      ->check(CLI::Range(1, 65536));
  shown->add_option("--nodes", a->nodes, "with --graphs: number of nodes")
      ->check(CLI::Range(1, 65536));
  shown->add_option(
      "--library", a->library,
      "with --graphs: the collective library; default nccl, nccl-2.27 on Blackwell, rccl on AMD's");
  shown->add_option("--host", a->host, "host layer");
  shown->add_option("--network", a->network, "transport between nodes");
  add("check", "read a platform file and report the first mistake", check);
  CLI::App* exported = add("export", "print as SimGrid XML or Graphviz", export_to);
  exported->add_option("--to", a->to, "simgrid or graphviz")
      ->check(CLI::IsMember({"simgrid", "graphviz"}));
  exported->add_option("--nodes", a->nodes, "number of nodes")->check(CLI::Range(1, 64));
  add_platform_import(app, action);
  return [action] { return (*action)(); };
}

} // namespace foretrain::cli
