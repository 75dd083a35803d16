// Logs of one's own machine in, a profile out.
#include "experiments/learn/calibrate.hpp"
#include "experiments/cli/command.hpp"
#include "sim/base/error.hpp"
#include "sim/base/files.hpp"

#include <iostream>

namespace foretrain::cli {

namespace {

using namespace experiments;

struct CalibrateArguments {
  std::vector<std::string> logs;
  std::string out;
  std::string name;
  bool dry_run = false;
  CalibrateOptions options;
};

int run_calibrate(const CalibrateArguments& a)
{
  if (a.out.empty() && !a.dry_run)
    throw UsageError("where to? give --out PROFILE.json, or --dry-run to see what would be learnt");
  Calibration calibration = calibrate(a.logs, a.options);
  calibration.profile.name = a.name;
  for (const std::string& note : calibration.notes)
    std::cerr << "note: " << note << "\n";
  std::cout << calibration_text(calibration);
  std::cout.flush();
  if (a.dry_run)
    return done;
  if (calibration.withholds()) {
    std::cerr << a.out
              << " is not written: it would be no better than the presets, or of another "
                 "machine; --force writes it\n";
    return violated;
  }
  if (calibration.profile.parameters.empty()) {
    std::cerr << "nothing was learnt: " << a.out << " is not written\n";
    return wrong_input;
  }
  write_file(a.out, calibration::to_json(calibration.profile).dump(2) + "\n");
  std::cerr << "written to " << a.out << "; use it with: foretrain predict EXPERIMENT --profile "
            << a.out << "\n";
  return done;
}

} // namespace

std::function<int()> calibrate(CLI::App& app)
{
  const auto a = std::make_shared<CalibrateArguments>();
  app.add_option(
         "LOG", a->logs,
         "nccl-tests, p2pBandwidthLatencyTest, nvbandwidth, perftest, iperf3 --json, "
         "fio --output-format=json, records of realrun, nvidia-smi topo -m, NCCL topology XML")
      ->required();
  app.add_option("--out", a->out, "the profile to write");
  app.add_flag("--dry-run", a->dry_run, "show what would be learnt, write nothing");
  app.add_option("--name", a->name, "name of the profile");
  app.add_option("--platform", a->options.platform, "the machine the logs come from");
  app.add_option("--host", a->options.host, "host layer they ran on");
  app.add_option("--network", a->options.network, "transport between nodes they ran over");
  app.add_option("--library", a->options.library,
                 "collective library; default nccl, nccl-2.27 on Blackwell, rccl on AMD's");
  app.add_option("--disk", a->options.disk, "disk of fio logs; default the platform's first");
  app.add_option("--gpus", a->options.gpus, "GPUs per node, for logs that do not say")
      ->check(CLI::Range(1, 1024));
  app.add_option("--nodes", a->options.nodes, "nodes, for logs that do not say")
      ->check(CLI::Range(1, 65536));
  app.add_option("--program", a->options.program,
                 "program of nccl-tests, like all_gather_perf, for logs that do not say");
  app.add_flag("--force", a->options.force,
               "keep what is no better than the presets on measurements held back, more than half "
               "off, or of another GPU");
  app.add_option("--profile", a->options.profiles, "profiles learnt earlier, to build on");
  return [a] { return run_calibrate(*a); };
}

} // namespace foretrain::cli
