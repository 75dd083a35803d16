// Levers that help only together, against all pairs one by one, and links that are one limit.
#include "experiments/run/limits/lever_sets.hpp"

#include "experiments/answers/explain.hpp"
#include "experiments/report/report_explain.hpp"
#include "experiments/run/limits/gains.hpp"
#include "experiments/run/limits/tight_links.hpp"
#include "experiments/run/scenario.hpp"
#include "experiments/spec/resolve.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace foretrain::lever_sets_test {

using namespace foretrain::experiments;
using Catch::Matchers::Contains;

namespace {

using Keys = std::set<std::string>;

LoadedExperiment loaded(const Json& json)
{
  LoadedExperiment experiment;
  experiment.document = parse_document(json.dump(), "test");
  experiment.points.push_back({{}, experiment.document, nullptr});
  experiment.spec = read_point(experiment.points.front());
  return experiment;
}

// One GPU in each of two nodes, whose adapter and PCIe link move 12.2 and 12.5 GB/s or so, and
// far more to exchange than to compute.
LoadedExperiment two_nodes(const Json& better = nullptr)
{
  Json json = {{"cluster", {{"platform", "c4140-k-v100-sxm2"}, {"nodes", 2}}},
               {"stack", {{"network", "rdma"}}},
               {"jobs",
                {{{"model", "vgg16"},
                  {"framework", "pytorch-ddp"},
                  {"precision", "fp16"},
                  {"batch_per_gpu", 2},
                  {"placement", "spread"},
                  {"gpus", 2}}}}};
  if (!better.is_null())
    json["better"] = better;
  return loaded(json);
}

PointResult predicted(const Json& better = nullptr)
{
  const LoadedExperiment experiment = two_nodes(better);
  return run_point(experiment.points.front(), {});
}

Explanation explained()
{
  ExplainOptions options;
  options.swaps = false;
  return explain(two_nodes(), 0, options);
}

} // namespace

TEST_CASE("links that are equally tight are one limit, which brings what both bring", "[long]")
{
  const PointResult base = predicted();
  const Bottleneck& limit = base.jobs.front().bottleneck;
  CHECK(limit.name == "PCIe and network adapters");
  CHECK(limit.doubled == "PCIe twice as fast and network adapters twice as fast");
  REQUIRE(limit.tight == std::vector<const Lever*>{lever_named("pcie"), lever_named("nic")});
  CHECK_THAT(limit.why, Contains("each hides what the other would bring"));
  const auto gain = [&](const Json& better) {
    return predicted(better).jobs.front().throughput.median / base.jobs.front().throughput.median -
           1;
  };
  const double together = gain({{"pcie", 2}, {"nic", 2}});
  // Medians of 12 steps here, means of four there.
  CHECK(*limit.gain_if_doubled == Approx(together).epsilon(0.02));
  const double pcie = gain({{"pcie", 2}});
  const double nic = gain({{"nic", 2}});
  CHECK(saved_by(together) > 2 * (saved_by(pcie) + saved_by(nic)));
  CHECK_THAT(limit.why,
             Contains(fmt::format("one by one {:+.0f} % and {:+.0f} %", 100 * pcie, 100 * nic)));
}

TEST_CASE("a link that waiting for it explains, and a job that hides its exchanges, have no others")
{
  const ResolvedExperiment experiment = resolve(two_nodes().points.front());
  const auto base = throughputs_with(experiment, {}, 1, {});
  CHECK(!tight_links(experiment, base, {false}, {}).front());
  const auto wider = resolve(two_nodes({{"pcie", 4}}).points.front()); // adapters alone limit
  CHECK(!tight_links(wider, throughputs_with(wider, {}, 1, {}), {true}, {}).front());
  const PointResult answer = predicted({{"pcie", 4}});
  CHECK(answer.jobs.front().bottleneck.name == "network adapters");
  CHECK(answer.jobs.front().bottleneck.tight.empty());
}

TEST_CASE("what helps only together is what all pairs, run one by one, say")
{
  const ResolvedExperiment experiment = resolve(two_nodes().points.front());
  const auto base = throughputs_with(experiment, {}, 1, {});
  std::vector<std::vector<double>> doubled;
  for (const Lever& lever : levers())
    doubled.push_back(gains_over(base, throughputs_with(experiment, {&lever}, 2, {})));
  int runs = 0;
  const auto sets = sets_that_help(experiment, base, doubled, {}, [&runs] { ++runs; }).front();
  CHECK(runs <= std::ssize(levers()) + kMostSets);
  std::map<Keys, double> told;
  for (const LeverSet& set : sets) {
    Keys keys;
    for (const Lever* lever : set.levers)
      keys.insert(std::string(lever->key));
    told[keys] = set.surplus;
    CHECK(set.gain == gains_over(base, throughputs_with(experiment, set.levers, 2, {})).front());
  }
  CHECK(told.size() == sets.size());
  CHECK(std::is_sorted(sets.begin(), sets.end(),
                       [](const LeverSet& a, const LeverSet& b) { return a.surplus > b.surplus; }));
  int found = 0;
  const auto all = levers();
  for (std::size_t a = 0; a < all.size(); ++a)
    for (std::size_t b = a + 1; b < all.size(); ++b) {
      const double together =
          gains_over(base, throughputs_with(experiment, {&all[a], &all[b]}, 2, {})).front();
      const double surplus = saved_by(together) - std::max(0.0, saved_by(doubled[a].front())) -
                             std::max(0.0, saved_by(doubled[b].front()));
      const Keys keys{std::string(all[a].key), std::string(all[b].key)};
      INFO(all[a].key << " " << all[b].key << " " << surplus);
      CHECK(told.contains(keys) == (surplus > 0.01));
      if (told.contains(keys))
        CHECK(told[keys] == Approx(surplus));
      found += surplus > 0.01 ? 1 : 0;
    }
  CHECK(found >= 1);
}

TEST_CASE("the answer tells what helps together, and the limit with both 10 % better")
{
  const Explanation answer = explained();
  const ExplainedJob& job = answer.jobs.front();
  REQUIRE(job.limited_by);
  CHECK(job.limited_by->lever == "pcie+nic");
  CHECK(job.limited_by->name == "PCIe and network adapters");
  const ResolvedExperiment experiment = resolve(two_nodes().points.front());
  const auto base = throughputs_with(experiment, {}, 1, {});
  const std::vector<const Lever*> both{lever_named("pcie"), lever_named("nic")};
  CHECK(job.limited_by->slightly ==
        Approx(gains_over(base, throughputs_with(experiment, both, 1.1, {})).front()));
  REQUIRE(!job.together.empty());
  CHECK(job.together.front().levers == std::vector<std::string>{"pcie", "nic"});
  CHECK(job.together.front().twice ==
        Approx(gains_over(base, throughputs_with(experiment, both, 2, {})).front()));
  CHECK_THAT(report_explain(answer), Contains("Limited by PCIe and network adapters: ") &&
                                         Contains("More together than one by one: PCIe twice as "
                                                  "fast and network adapters twice as"));
}

TEST_CASE(
    "what servers on the host send passes PCIe and main memory, one limit where both are tight",
    "[long]")
{
  const LoadedExperiment experiment = loaded(
      {{"cluster", {{"platform", "dgx1-v100"}}},
       {"jobs", {{{"model", "vgg16"}, {"framework", "tensorflow-ps"}, {"batch_per_gpu", 4}}}}});
  const Bottleneck limit = run_point(experiment.points.front(), {}).jobs.front().bottleneck;
  CHECK(limit.tight == std::vector<const Lever*>{lever_named("pcie"), lever_named("memory")});
  CHECK(limit.name == "PCIe and memory bandwidth of the nodes");
}

TEST_CASE("links that save no more together than one by one are no one limit", "[long]")
{
  const LoadedExperiment experiment = load_experiment("nthu-shared", {}, {});
  const PointResult shared = run_point(experiment.points.at(1), {});
  const Bottleneck& limit = shared.jobs.front().bottleneck;
  CHECK(limit.tight.empty());
  CHECK(limit.name == "memory bandwidth of the nodes");
}

} // namespace foretrain::lever_sets_test
