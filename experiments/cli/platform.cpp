#include "experiments/cli/command.hpp"
#include "experiments/cli/import.hpp"
#include "platforms/show.hpp"
#include "sim/base/error.hpp"

#include <iostream>

namespace foretrain::cli {

namespace {

using namespace platforms;

struct Arguments {
  std::string name;
  std::string host = "bare-metal";
  std::string network;
  std::string to = "simgrid";
  int gpus = 0;
  int nodes = 1;
  bool rings = false;
};

Stack stack_for(const Arguments& a, const PlatformSpec& spec)
{
  bool rdma = false;
  for (const auto& nic : spec.nics)
    rdma |= nic.rdma;
  const std::string network = !a.network.empty() ? a.network : rdma ? "rdma" : "tcp";
  return {load_host(resolve_preset(a.host, kHostKind)),
          load_transport(resolve_preset(network, kTransportKind))};
}

int list()
{
  for (const auto& name : preset_names(kPlatformKind)) {
    const auto spec = load_platform(name);
    std::cout << name << std::string(name.size() < 26 ? 26 - name.size() : 1, ' ')
              << spec.description << "\n";
  }
  return done;
}

int show(const Arguments& a)
{
  const auto spec = load_platform(a.name);
  const Stack stack = stack_for(a, spec);
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

int check(const Arguments& a)
{
  const auto spec = load_platform(a.name);
  std::cout << spec.name << ": ok, " << spec.gpus_per_node() << " GPUs per node, up to "
            << spec.max_nodes << " nodes\n";
  return done;
}

int export_to(const Arguments& a)
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
  const auto a = std::make_shared<Arguments>();
  const auto action = std::make_shared<std::function<int()>>();
  app.require_subcommand(1);
  const auto add = [&](const char* name, const char* summary, int (*run)(const Arguments&)) {
    CLI::App* sub = app.add_subcommand(name, summary);
    sub->add_option("PLATFORM", a->name, "name or file of a platform")->required();
    sub->callback([a, action, run] { *action = [a, run] { return run(*a); }; });
    return sub;
  };
  app.add_subcommand("list", "all bundled platforms")->callback([action] { *action = list; });
  CLI::App* shown = add("show", "topology, bandwidths, latencies, bisection", show);
  shown->add_flag("--rings", a->rings, "show the rings of collectives instead");
  shown->add_option("-g,--gpus", a->gpus, "over the first so many GPUs")
      ->check(CLI::Range(2, 65536));
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
