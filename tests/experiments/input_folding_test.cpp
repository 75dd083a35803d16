// Input of GPUs that do the same, folded, against the same GPUs one by one.
#include "experiments/run/simulate/input_folding.hpp"

#include "tests/support/catch.hpp"

#include <algorithm>

namespace foretrain::input_folding_test {

using namespace foretrain::experiments;

namespace {

// Nodes with two GPUs each: a read of 3 units from a server that all share, over a link of the node
// that its GPUs share, and decoding by threads that hold cores of the node.
struct Cluster {
  sim::Engine engine;
  int server = engine.add_resource("server", 40).value;
  GpuStages stages;

  explicit Cluster(const std::vector<double>& links)
  {
    for (const double rate : links) {
      const int link = engine.add_resource("link", rate).value;
      const int cores = engine.add_resource("cores", 4).value;
      for (int gpu = 0; gpu < 2; ++gpu) {
        models::InputStage read;
        read.name = "read";
        read.path = sim::make_path({{server, 2.0}, {link, 1.0}}, Seconds(0.5));
        read.amount = 3;
        models::InputStage decode;
        decode.name = "decode";
        decode.path = sim::make_path({{link, 0.25}}, {}, 6.0, {{{cores, 1.0}}, 3.0});
        decode.amount = 5;
        stages.push_back({read, decode});
      }
    }
  }

  // When the last of the flows of stage `k` of these GPUs ends, all of which start at once.
  Seconds end(const std::vector<std::vector<models::InputStage>>& gpus, std::size_t k)
  {
    Seconds last;
    const Seconds start = engine.now();
    for (const auto& gpu : gpus)
      engine.start({gpu[k].path, gpu[k].amount, gpu[k].priority, gpu[k].name},
                   [&](const sim::FlowRecord&) { last = std::max(last, engine.now() - start); });
    engine.run();
    return last;
  }
};

} // namespace

TEST_CASE("one flow takes what those of all GPUs take, and as long", "[folding][closed-form]")
{
  for (const double link : {8.0, 3.0}) { // the server limits, or the nodes' links
    const std::vector<double> links(5, link);
    for (const std::size_t k : {0U, 1U}) {
      Cluster one_by_one(links);
      const Seconds expected = one_by_one.end(one_by_one.stages, k);
      Cluster cluster(links);
      const auto folded = folded_stages(cluster.stages, 0, 10);
      CHECK(cluster.end({folded}, k).value() == Approx(expected.value()).epsilon(1e-9));
      CHECK(cluster.engine.consumed({cluster.server}) ==
            Approx(one_by_one.engine.consumed({one_by_one.server})).epsilon(1e-9));
    }
  }
  // Ten reads of 3 units, 2 of the server for each: 60 / 40 s after the latency.
  Cluster cluster(std::vector<double>(5, 8.0));
  CHECK(cluster.end({folded_stages(cluster.stages, 0, 10)}, 0).value() == Approx(2.0));
}

TEST_CASE("part of a job's GPUs folds, beside the others one by one", "[folding][closed-form]")
{
  const std::vector<double> links(5, 8.0);
  Cluster one_by_one(links);
  const Seconds expected = one_by_one.end(one_by_one.stages, 0);
  Cluster cluster(links);
  CHECK(cluster.end({cluster.stages[0], cluster.stages[1], folded_stages(cluster.stages, 2, 8)}, 0)
            .value() == Approx(expected.value()).epsilon(1e-9));
}

TEST_CASE("GPUs whose input meets something else stay apart", "[folding]")
{
  Cluster alike(std::vector<double>(5, 8.0));
  std::vector<bool> apart(10, false);
  apart[0] = apart[1] = true; // the first node, as people look at it
  keep_alike(alike.engine, alike.stages, apart);
  CHECK(std::count(apart.begin(), apart.end(), true) == 2);

  Cluster slow({8.0, 8.0, 8.0, 8.0, 5.0}); // the last node's link is slower
  apart.assign(10, false);
  keep_alike(slow.engine, slow.stages, apart);
  CHECK(apart ==
        std::vector<bool>{false, false, false, false, false, false, false, false, true, true});

  Cluster half(std::vector<double>(5, 8.0)); // a GPU less on the last node
  half.stages.pop_back();
  apart.assign(9, false);
  keep_alike(half.engine, half.stages, apart);
  CHECK(apart == std::vector<bool>{false, false, false, false, false, false, false, false, true});

  Cluster middle({8.0, 8.0, 5.0, 8.0, 8.0}); // no row of more than four
  apart.assign(10, false);
  keep_alike(middle.engine, middle.stages, apart);
  CHECK(apart == std::vector<bool>{false, false, false, false, true, true, true, true, true, true});
}

} // namespace foretrain::input_folding_test
