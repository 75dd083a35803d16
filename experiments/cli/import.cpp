#include "experiments/cli/import.hpp"

#include "experiments/cli/command.hpp"
#include "platforms/import.hpp"
#include "sim/base/files.hpp"

#include <iostream>

namespace foretrain::cli {

namespace {

struct ImportArguments {
  std::string file;
  std::string out;
  platforms::ImportOptions options;
};

int import(const ImportArguments& a)
{
  const auto imported = platforms::import_platform(std::filesystem::path(a.file), a.options);
  const std::string text = imported.json.dump(2) + "\n";
  for (const auto& note : imported.notes)
    std::cerr << (note.starts_with("warning: ") ? "" : "note: ") << note << "\n";
  if (a.out.empty()) {
    std::cout << text;
    return done;
  }
  write_file(a.out, text);
  std::cerr << "written to " << a.out << "; look at it with: foretrain platform show " << a.out
            << "\n";
  return done;
}

} // namespace

void add_platform_import(CLI::App& platform, const std::shared_ptr<std::function<int()>>& action)
{
  const auto a = std::make_shared<ImportArguments>();
  CLI::App* app = platform.add_subcommand(
      "import", "make a platform from NCCL_TOPO_DUMP_FILE XML or `nvidia-smi topo -m` text");
  app->add_option("FILE", a->file, "what the machine printed")->required();
  app->add_option("--name", a->options.name, "name of the platform (default: that of the file)");
  app->add_option("--gpu", a->options.gpu, "GPU preset");
  app->add_option("--cpu", a->options.cpu, "CPU preset");
  app->add_option("--nic", a->options.nic, "adapter preset, for every adapter");
  app->add_option("--nvlink", a->options.nvlink,
                  "NVLinks where the file does not tell: switch, pairs, none, or a platform with "
                  "the same board");
  app->add_option("--memory", a->options.memory, "main memory of the node, like \"384 GB\"");
  app->add_option("--fabric", a->options.fabric, "fabric preset that joins the nodes");
  app->add_option("--nodes", a->options.nodes, "how many nodes there can be")
      ->check(CLI::Range(1, 65536));
  app->add_option("--numa-per-socket", a->options.numa_per_socket,
                  "NUMA nodes of one socket (4 for AMD NPS4)")
      ->check(CLI::Range(1, 64));
  app->add_option("--out", a->out, "write here instead of printing");
  app->callback([a, action] { *action = [a] { return import(*a); }; });
}

} // namespace foretrain::cli
