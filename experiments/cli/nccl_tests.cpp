// nccl-tests' flags and columns, on a simulated machine.
#include "calibration/gpu_model.hpp"
#include "calibration/nccl_tests_log.hpp"
#include "experiments/cli/command.hpp"
#include "experiments/cli/stack_argument.hpp"
#include "experiments/run/uncertainty/call_ranges.hpp"
#include "experiments/spec/gpu_library.hpp"
#include "experiments/spec/profiles.hpp"
#include "experiments/spec/resolve_checks.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>
#include <iostream>
#include <map>

namespace foretrain::cli {

namespace {

using namespace experiments;

constexpr double kWorthTelling = 0.9; // of the chosen one's time
constexpr double kInterval = 0.9;
constexpr int kMostPerNode = 1024; // check_ranks asks the platform

// A comment, so that readers of nccl-tests' output are not disturbed.
std::string explanation(const NcclTestsRow& row)
{
  std::string text =
      fmt::format("#   {} {}: latency {} + size / {}", row.choice.algorithm, row.choice.protocol,
                  to_text(row.choice.latency), to_text(row.choice.rate));
  if (row.quickest.time < kWorthTelling * row.choice.time)
    text += fmt::format("; {} {} would take {}, but the library expects otherwise",
                        row.quickest.algorithm, row.quickest.protocol, to_text(row.quickest.time));
  return text;
}

struct NcclTestsArguments {
  std::string program;
  std::string platform;
  StackArguments stack;
  std::string library;
  std::vector<std::string> profiles;
  std::string begin = "32M", end = "32M", increment = "1M";
  double factor = 0;
  int gpus = 0; // 0: of the log compared with
  int threads = 0;
  int nodes = 0; // likewise; 1 without a log
  int iterations = 20, warmup = 5;
  std::map<std::string, std::string> ignored; // by flag
  std::string type = "float";
  std::string algorithm = "auto";
  std::string fidelity = "coupled";
  bool explain = false;
  std::string diff;
  std::optional<double> fail_above; // percent
  bool force = false;
};

// "8", "128M", "1G", "16MB": nccl-tests' suffixes are powers of 1024, of which it reads one letter.
double size_of(const std::string& text, const char* flag)
{
  std::size_t used = 0;
  double value = 0;
  try {
    value = std::stod(text, &used);
  } catch (const std::exception&) {
    used = 0;
  }
  std::string suffix = text.substr(used);
  for (const char* byte : {"iB", "B"})
    if (suffix.size() > 1 && suffix.ends_with(byte))
      suffix.erase(1);
  const char* const known = "KMGT";
  const char letter = suffix.empty() ? ' ' : static_cast<char>(std::toupper(suffix[0]));
  const char* const at = std::strchr(known, letter);
  if (used == 0 || !(value >= 0) || value > 1e15 || suffix.size() > 1 ||
      (letter != ' ' && at == nullptr))
    throw UsageError(
        fmt::format("{} needs a size like 8, 128K, 1M or 1G, got '{}'", flag, excerpt(text)));
  return letter == ' ' ? value : value * std::pow(1024.0, static_cast<double>(at - known) + 1);
}

// NCCL_ALGO's words beside ours.
std::string algorithm_of(std::string name)
{
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char letter) { return std::tolower(letter); });
  return name == "nvls" ? "in-switch" : name == "nvlstree" ? "in-switch-tree" : name;
}

int element_size(const std::string& type)
{
  struct Type {
    const char* name;
    int size;
  };
  static constexpr Type kTypes[] = {{"int8", 1},   {"uint8", 1},  {"half", 2},  {"bfloat16", 2},
                                    {"int32", 4},  {"uint32", 4}, {"float", 4}, {"int64", 8},
                                    {"uint64", 8}, {"double", 8}};
  std::vector<std::string> names;
  for (const Type& it : kTypes) {
    if (type == it.name)
      return it.size;
    names.emplace_back(it.name);
  }
  throw UsageError("-d: '" + excerpt(type) +
                   "' is not a type\n  hint: " + suggestion(type, names, "types"));
}

// A process for each GPU, or with -t one for each node.
std::string rank_list(const platforms::PlatformSpec& platform, const NcclTestsOptions& options,
                      bool threads)
{
  std::string text = "# Using devices\n";
  int rank = 0;
  for (int node = 0; node < options.nodes; ++node)
    for (int gpu = 0; gpu < options.gpus_per_node; ++gpu, ++rank)
      text += fmt::format("#  Rank {:2d} Group  0 Pid {:6d} on {:>10} device {:2d} [0x{:02x}] {}\n",
                          rank, 1 + (threads ? node : rank), fmt::format("node{}", node), gpu, gpu,
                          platform.gpu.name);
  return text;
}

struct Predicted {
  std::vector<NcclTestsRow> rows;
  std::vector<CallRange> ranges; // of each
};

Predicted predict(const NcclTest& test, const CallMachine& own, const CallMachineWith& machine,
                  const NcclTestsOptions& options, const std::shared_ptr<Profiles>& profiles)
{
  Predicted predicted{run_nccl_test(test, own.platform, own.stack, options), {}};
  predicted.ranges = call_ranges(test, machine, options, predicted.rows, profiles, kInterval);
  return predicted;
}

// As comments: how sure the times are, and what makes them so.
void print_ranges(const Predicted& predicted)
{
  std::cout << fmt::format("# Of times, {:g} % of machines like this one (us), and what is most "
                           "uncertain:\n",
                           100 * kInterval);
  for (std::size_t i = 0; i < predicted.rows.size(); ++i) {
    const CallRange& it = predicted.ranges[i];
    const std::string cause = it.parts.empty()
                                  ? ""
                                  : fmt::format("  {} ({:.0f} %)", it.parts.front().parameter,
                                                100 * it.parts.front().spread);
    std::cout << fmt::format("#{:11.0f} {:9.2f} to {:9.2f}{}\n", predicted.rows[i].size,
                             it.time.low * 1e6, it.time.high * 1e6, cause);
  }
}

void print(const NcclTest& test, const NcclTestsArguments& a, const CallMachine& machine,
           const NcclTestsOptions& options, const Predicted& predicted)
{
  const platforms::PlatformSpec& platform = machine.platform;
  const std::vector<NcclTestsRow>& rows = predicted.rows;
  const bool sums = test.operation == models::Operation::all_reduce ||
                    test.operation == models::Operation::reduce_scatter;
  for (const std::string& assumed : assumptions_of(machine.stack, options.nodes > 1))
    std::cout << "# assumed: " << assumed << '\n';
  if (const std::string remark = remark_on_version(a.library); !remark.empty())
    std::cout << "# assumed: " << remark << '\n';
  std::cout << fmt::format(
      "# foretrain: {} simulated on {}, {} node(s) x {} GPU(s)\n"
      "# nThread {} nGpus {} minBytes {:.0f} maxBytes {:.0f} step: {}({}) "
      "warmup iters: {} iters: {} agg "
      "iters: 1 validation: 0 graph: 0\n#\n"
      "{}#\n"
      "#                                                              "
      "out-of-place                       "
      "in-place          \n"
      "#       size         count      type   redop    root     time   algbw  "
      " busbw #wrong     time   "
      "algbw   busbw #wrong\n"
      "#        (B)    (elements)                               (us)  (GB/s)  "
      "(GB/s)            (us)  "
      "(GB/s)  (GB/s)       \n",
      test.program, a.platform, options.nodes, options.gpus_per_node, std::max(1, a.threads),
      options.gpus_per_thread, rows.empty() ? 0 : rows.front().size,
      rows.empty() ? 0 : rows.back().size,
      a.factor > 1 ? fmt::format("{:g}", a.factor) : a.increment, a.factor > 1 ? "factor" : "bytes",
      a.warmup, a.iterations, rank_list(platform, options, a.threads > 0));
  double sum = 0;
  for (const NcclTestsRow& row : rows) {
    const double us = row.time * 1e6;
    const int digits = us >= 1e4 ? 0 : us >= 100 ? 1 : 2; // as nccl-tests has it
    const std::string numbers = fmt::format(" {:8.{}f} {:7.2f} {:7.2f}    N/A", us, digits,
                                            row.algorithm_bandwidth / 1e9, row.bus_bandwidth / 1e9);
    std::cout << fmt::format("{:12.0f} {:13.0f} {:>9} {:>7} {:>7} {}{}", row.size, row.count,
                             a.type, sums ? "sum" : "none",
                             test.operation == models::Operation::broadcast ? 0 : -1, numbers,
                             numbers);
    std::cout << "\n";
    if (a.explain && !row.choice.protocol.empty())
      std::cout << explanation(row) << "\n";
    sum += row.bus_bandwidth / 1e9;
  }
  print_ranges(predicted);
  std::cout << fmt::format("# Out of bounds values : 0 OK\n# Avg bus bandwidth    : {:g} \n#\n",
                           rows.empty() ? 0 : sum / static_cast<double>(rows.size()));
}

// Predicted against measured times, size by size; 1 when they differ by more than allowed.
int print_difference(const NcclTestsArguments& a, const calibration::NcclTestsLog& log,
                     const std::vector<calibration::NcclRow>& measured, const Predicted& predicted)
{
  const std::vector<NcclTestsRow>& rows = predicted.rows;
  std::cout << fmt::format("{:>14} {:>14} {:>14} {:>9}  {}\n", "size (B)", "measured (us)",
                           "predicted (us)", "error", "90 % interval (us)");
  double sum = 0;
  double worst = 0;
  int inside = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Range& range = predicted.ranges[i].time;
    const double time = measured[i].out_of_place.time.value();
    const double error = rows[i].time / time - 1;
    sum += std::abs(error);
    worst = std::max(worst, std::abs(error));
    const bool within = range.low <= time && time <= range.high;
    inside += within ? 1 : 0;
    std::cout << fmt::format("{:14.0f} {:14.2f} {:14.2f} {:+8.1f}%  {:.2f} to {:.2f}{}\n",
                             measured[i].size.value(), time * 1e6, rows[i].time * 1e6, 100 * error,
                             range.low * 1e6, range.high * 1e6, within ? "" : ", outside");
  }
  const double mean = 100 * sum / static_cast<double>(rows.size());
  std::cout << fmt::format(
      "mean error {:.1f} %, maximum {:.1f} %, {} rows, {} inside the interval\n", mean, 100 * worst,
      rows.size(), inside);
  for (const auto& note : log.notes)
    std::cerr << "note: " << note << "\n";
  return a.fail_above && mean > *a.fail_above ? violated : done;
}

// The programs that a file is of, in its order, where it tells them.
std::vector<std::string> programs_of(const std::string& file)
{
  std::vector<std::string> programs;
  for (const auto& log : calibration::read_nccl_tests_files(file)) {
    std::vector<std::string> possible = calibration::possible_collectives(log);
    for (std::string& collective : possible)
      collective += "_perf";
    if (possible.size() != 1)
      throw UsageError(fmt::format(
          "--diff: '{0}' may be of {1}\n  hint: say which: foretrain nccl-tests PROGRAM "
          "--diff {0}",
          file, joined(possible, " or ")));
    if (std::find(programs.begin(), programs.end(), possible.front()) == programs.end())
      programs.push_back(possible.front());
  }
  return programs;
}

// The log of the program asked for, if the file holds several.
calibration::NcclTestsLog log_of(const NcclTestsArguments& a, const NcclTest& test)
{
  std::string others;
  for (auto& log : calibration::read_nccl_tests_files(a.diff)) {
    const auto possible = calibration::possible_collectives(log);
    for (const std::string& collective : possible)
      if (collective + "_perf" == test.program)
        return std::move(log);
    others += (others.empty() ? "" : ", ") + joined(possible, " or ");
  }
  throw UsageError("--diff: '" + a.diff + "' is of " + others + ", not of " + test.program);
}

// Ranks, nodes and threads that the log names, where no flag does.
void take_from_log(const NcclTestsArguments& a, const calibration::NcclTestsLog& log,
                   NcclTestsOptions& options)
{
  const int ranks = log.ranks_per_communicator();
  if (a.nodes == 0 && ranks > 0)
    options.nodes = std::max(1, log.nodes());
  if (const std::string against = a.nodes > 0 ? log.against_nodes(a.nodes) : ""; !against.empty())
    std::cerr << fmt::format("note: --diff: '{}' {}\n", a.diff, against);
  if (a.gpus == 0 && a.threads == 0 && ranks > 0) {
    if (ranks % options.nodes != 0)
      throw UsageError(fmt::format("--diff: '{}' has {} ranks on {} nodes, not as many on each: "
                                   "give -g and --nodes",
                                   a.diff, ranks, options.nodes));
    options.gpus_per_node = ranks / options.nodes;
  }
  if (a.threads == 0 && log.gpus_per_thread > 1)
    options.gpus_per_thread = std::min(log.gpus_per_thread, options.gpus_per_node);
  if (ranks > 0 && ranks != options.gpus_per_node * options.nodes)
    throw UsageError(fmt::format("--diff: '{}' has {} ranks, -g {} on {} node(s) make {}", a.diff,
                                 ranks, options.gpus_per_node, options.nodes,
                                 options.gpus_per_node * options.nodes));
}

// What takes part, against what is there and can exchange anything.
void check_ranks(const NcclTestsOptions& options, const platforms::PlatformSpec& platform)
{
  if (const auto library = models::load_library(options.library);
      options.nodes > 1 && !library.between_nodes)
    throw UsageError(fmt::format("--nodes {}: {} has no network\n  hint: --library nccl-2.0, or a "
                                 "later one",
                                 options.nodes, library.name));
  if (options.gpus_per_node > platform.gpus_per_node())
    throw UsageError(fmt::format("-g {}: '{}' has {} GPUs per node", options.gpus_per_node,
                                 platform.name, platform.gpus_per_node()));
  if (options.gpus_per_node * options.nodes < 2)
    throw UsageError("one GPU exchanges nothing\n  hint: give -g (GPUs per node) or --nodes; a "
                     "log that lists its ranks (--diff) gives both");
}

// Errors of a log against another machine say nothing of the model.
void check_gpu(const NcclTestsArguments& a, const calibration::NcclTestsLog& log,
               const platforms::PlatformSpec& platform)
{
  const std::string gpu = log.ranks.empty() ? "" : log.ranks.front().gpu;
  const std::string model = calibration::gpu_model(gpu);
  if (!a.force && !model.empty() && model != calibration::gpu_model(platform.gpu.name))
    throw UsageError(fmt::format("--diff: '{}' is of a '{}', '{}' has the {}\n  hint: --force "
                                 "compares them all the same",
                                 a.diff, excerpt(gpu), platform.name, platform.gpu.name));
}

int run_difference(const NcclTestsArguments& a, const NcclTest& test, const CallMachine& own,
                   const CallMachineWith& machine, NcclTestsOptions options,
                   const std::shared_ptr<Profiles>& profiles)
{
  const auto log = log_of(a, test);
  take_from_log(a, log, options);
  check_gpu(a, log, own.platform);
  check_ranks(options, own.platform);
  std::vector<calibration::NcclRow> rows;
  for (const auto& row : log.rows)
    if (row.size.value() > 0 && row.out_of_place.time.value() > 0)
      rows.push_back(row);
  if (rows.empty())
    throw UsageError("--diff: '" + a.diff + "' holds no rows with bytes and a time");
  for (const auto& row : rows)
    options.sizes.push_back(row.size.value());
  return print_difference(a, log, rows, predict(test, own, machine, options, profiles));
}

int run_nccl_tests(const NcclTestsArguments& a)
{
  if (a.program.empty() && a.diff.empty())
    throw UsageError("PROGRAM is missing\n  hint: one of " + joined(nccl_test_names(), ", ") +
                     "; --diff LOG takes that of the log");
  if (a.program.empty()) {
    int code = done;
    for (const std::string& program : programs_of(a.diff)) {
      std::cout << "# " << program << "\n";
      NcclTestsArguments one = a;
      one.program = program;
      code = std::max(code, run_nccl_tests(one));
    }
    return code;
  }
  const NcclTest* test = find_nccl_test(a.program);
  if (test == nullptr)
    throw UsageError("'" + excerpt(a.program) + "' is not a program of nccl-tests\n  hint: " +
                     suggestion(a.program, nccl_test_names(), "programs"));
  const auto profiles = std::make_shared<Profiles>();
  for (const std::string& name : a.profiles)
    profiles->add(name);
  const CallMachineWith machine = [&a](const OverlayPtr& overlay) {
    const auto platform =
        platforms::load_platform(resolve_preset(a.platform, platforms::kPlatformKind, overlay));
    return CallMachine{platform, stack_of(a.stack, platform, overlay),
                       library_for(a.library, platform.gpu, overlay)};
  };
  const CallMachine own = machine(profiles->overlay);
  if (a.fail_above && a.diff.empty())
    throw UsageError("--fail-above needs a log to compare with (--diff)");
  NcclTestsOptions options;
  options.nodes = std::max(1, a.nodes);
  options.gpus_per_node = std::max(1, a.gpus) * std::max(1, a.threads);
  options.begin = size_of(a.begin, "-b");
  options.end = size_of(a.end, "-e");
  options.increment = size_of(a.increment, "-i");
  options.factor = a.factor;
  options.gpus_per_thread = a.threads > 0 ? std::max(1, a.gpus) : 1;
  options.element_size = element_size(a.type);
  options.algorithm = algorithm_of(a.algorithm);
  options.fidelity = choice_of<models::Fidelity>(a.fidelity).value();
  options.library = own.library;
  if (!a.diff.empty())
    return run_difference(a, *test, own, machine, options, profiles);
  check_ranks(options, own.platform);
  if (options.end < options.begin || (a.factor <= 1 && options.increment <= 0))
    throw UsageError(
        "the sizes lead nowhere: -b must not be above -e, and -f above 1 or -i above 0");
  if (a.factor > 1 &&
      std::log(options.end / std::max(1.0, options.begin)) / std::log(a.factor) > 10000)
    throw UsageError("more than 10000 sizes: raise -f");
  if (a.factor <= 1 && (options.end - options.begin) / options.increment > 100000)
    throw UsageError("more than 100000 sizes: raise -i, or use -f 2");
  print(*test, a, own, options, predict(*test, own, machine, options, profiles));
  return done;
}

} // namespace

std::function<int()> nccl_tests(CLI::App& app)
{
  const auto a = std::make_shared<NcclTestsArguments>();
  app.add_option("PROGRAM", a->program,
                 joined(nccl_test_names(), " | ") + "; default with --diff: the log's");
  app.add_option("--platform", a->platform, "name or file of the platform")->required();
  app.add_option("-b,--minbytes", a->begin, "smallest size, like 8 or 1M");
  app.add_option("-e,--maxbytes", a->end, "largest size");
  app.add_option("-f,--stepfactor", a->factor, "sizes grow by this factor")
      ->check(CLI::Range(1.0, 1e6))
      ->check(finite);
  app.add_option("-i,--stepbytes", a->increment, "sizes grow by so many bytes");
  app.add_option("-g,--ngpus", a->gpus,
                 "GPUs per node, each with a process of its own; with -t: of each thread")
      ->check(CLI::Range(1, kMostPerNode));
  app.add_option("-t,--nthreads", a->threads,
                 "threads per node that launch on -g GPUs each in turn")
      ->check(CLI::Range(1, kMostPerNode));
  app.add_option("--nodes", a->nodes, "nodes")->check(CLI::Range(1, 65536));
  app.add_option("-n,--iters", a->iterations,
                 "taken and ignored: a simulation repeats itself exactly");
  app.add_option("-w,--warmup_iters", a->warmup, "taken and ignored");
  for (const char* flag :
       {"-m,--agg_iters", "-p,--parallel_init", "-c,--check", "-o,--op", "-r,--root",
        "-z,--blocking", "-y,--stream_null", "-T,--timeout", "-G,--cudagraph",
        "-C,--report_cputime", "-a,--average", "-R,--local_register", "-N,--run_cycles"})
    app.add_option(flag, a->ignored[flag], "taken and ignored");
  app.add_option("-d,--datatype", a->type, "type of the elements");
  app.add_option("--stack", a->stack.stack,
                 "host layer and transport, like container+flannel-vxlan; an object with \"host\" "
                 "and \"network\", or a file that holds one");
  app.add_option("--host", a->stack.host, "host layer; default that of --stack, or bare-metal");
  app.add_option("--network", a->stack.network,
                 "transport between nodes; default that of --stack, or rdma where there is any");
  app.add_option("--library", a->library,
                 "collective library; default nccl, nccl-2.27 on Blackwell, rccl on AMD's");
  app.add_option("--profile", a->profiles, "calibrated parameters to lay over the presets");
  app.add_option("--algorithm", a->algorithm, "auto, or an algorithm's name, ours or NCCL_ALGO's");
  app.add_option("--fidelity", a->fidelity, "coupled, edges or chunks")
      ->check(CLI::IsMember(words_of<models::Fidelity>()));
  app.add_option("--diff", a->diff, "a real log: predict its sizes and print the error of each");
  app.add_option("--fail-above", a->fail_above,
                 "with --diff: exit with 1 when the mean error is above so many percent")
      ->check(CLI::NonNegativeNumber)
      ->check(finite);
  app.add_flag("--force", a->force, "with --diff: compare with a log of another GPU, too");
  app.add_flag("--explain", a->explain,
               "say which algorithm and protocol was chosen, and its terms");
  return [a] { return run_nccl_tests(*a); };
}

} // namespace foretrain::cli
