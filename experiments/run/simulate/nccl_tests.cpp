#include "experiments/run/simulate/nccl_tests.hpp"

#include "experiments/spec/graph_rules.hpp"

#include <algorithm>
#include <cmath>

namespace foretrain::experiments {

namespace {

using models::Operation;

double all_reduce_factor(int n)
{
  return 2.0 * (n - 1) / n;
}
double part_factor(int n)
{
  return static_cast<double>(n - 1) / n;
}
double one(int)
{
  return 1.0;
}

std::vector<double> sizes_of(const NcclTestsOptions& options)
{
  if (!options.sizes.empty())
    return options.sizes;
  std::vector<double> sizes;
  for (double size = options.begin; size <= options.end;
       size = options.factor > 1 ? size * options.factor : size + options.increment)
    sizes.push_back(size);
  return sizes;
}

constexpr NcclTest kTests[] = {
    {"all_reduce_perf", Operation::all_reduce, &all_reduce_factor},
    {"all_gather_perf", Operation::all_gather, &part_factor},
    {"reduce_scatter_perf", Operation::reduce_scatter, &part_factor},
    {"broadcast_perf", Operation::broadcast, &one},
    {"alltoall_perf", Operation::all_to_all, &part_factor},
    {"sendrecv_perf", Operation::send_receive, &one},
};

} // namespace

const NcclTest* find_nccl_test(const std::string& program)
{
  const auto* const it =
      std::find_if(std::begin(kTests), std::end(kTests),
                   [&](const NcclTest& test) { return program == test.program; });
  return it == std::end(kTests) ? nullptr : it;
}

std::vector<std::string> nccl_test_names()
{
  std::vector<std::string> names;
  for (const NcclTest& test : kTests)
    names.emplace_back(test.program);
  return names;
}

namespace {

std::vector<platforms::GpuPlace> places(const NcclTestsOptions& options)
{
  std::vector<platforms::GpuPlace> ranks;
  for (int node = 0; node < options.nodes; ++node)
    for (int gpu = 0; gpu < options.gpus_per_node; ++gpu)
      ranks.push_back({node, gpu});
  return ranks;
}

} // namespace

std::vector<models::Collective::Choice> all_reduce_choices(const platforms::PlatformSpec& platform,
                                                           const platforms::Stack& stack,
                                                           const NcclTestsOptions& options,
                                                           Bytes size)
{
  sim::Engine engine;
  const platforms::Machine machine(engine, platform, stack, options.nodes);
  const models::Library library = models::load_device_library(options.library);
  const models::Collective collective(
      engine,
      platforms::make_communicator(machine, places(options), platform.name, graph_rules(library)),
      library, Operation::all_reduce, options.algorithm);
  return collective.candidates(size);
}

std::vector<NcclTestsRow> run_nccl_test(const NcclTest& test,
                                        const platforms::PlatformSpec& platform,
                                        const platforms::Stack& stack,
                                        const NcclTestsOptions& options)
{
  sim::Engine engine;
  const platforms::Machine machine(engine, platform, stack, options.nodes);
  const std::vector<platforms::GpuPlace> ranks = places(options);
  const int n = static_cast<int>(ranks.size());
  const models::Library library = models::load_device_library(options.library);
  const models::Collective collective(
      engine, platforms::make_communicator(machine, ranks, platform.name, graph_rules(library)),
      library, test.operation, options.algorithm);
  std::vector<NcclTestsRow> rows;
  for (const double size : sizes_of(options)) {
    NcclTestsRow row;
    const double per_rank = test.operation == Operation::all_gather ||
                                    test.operation == Operation::reduce_scatter ||
                                    test.operation == Operation::all_to_all
                                ? n
                                : 1;
    row.count = std::floor(size / options.element_size / per_rank);
    row.size = row.count * per_rank * options.element_size;
    if (n > 1 && row.size > 0) {
      row.choice = collective.choose(Bytes(row.size));
      const auto candidates = collective.candidates(Bytes(row.size));
      row.quickest =
          *std::min_element(candidates.begin(), candidates.end(),
                            [](const auto& a, const auto& b) { return a.time < b.time; });
      sim::TaskGraph graph(engine, test.program);
      std::vector<sim::TaskId> flows;
      collective.add(graph, graph.add_join("begin"), Bytes(row.size), 0, options.fidelity, flows);
      const Seconds start = engine.now();
      Seconds end;
      graph.start([&] { end = engine.now(); });
      engine.run();
      // Calls are launched one after another without waiting: the slower of host and GPUs counts.
      const Seconds host = options.gpus_per_thread * collective.library().host_launch;
      row.time =
          options.gpus_per_thread > 1 ? std::max(end - start, host).value() : (end - start).value();
      row.algorithm_bandwidth = row.size / row.time;
      row.bus_bandwidth = row.algorithm_bandwidth * test.bus_factor(n);
    }
    rows.push_back(row);
  }
  return rows;
}

} // namespace foretrain::experiments
