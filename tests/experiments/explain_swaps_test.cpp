// What explain offers instead of a job's software and storage.
#include "experiments/answers/explain_swaps.hpp"

#include "experiments/run/limits/pulled.hpp"
#include "experiments/spec/resolve.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>

namespace foretrain::explain_swaps_test {

using namespace foretrain::experiments;

namespace {

std::vector<std::vector<SwapGain>> swaps_of(const Json& json)
{
  Point point;
  point.document = parse_document(json.dump(), "test");
  const ResolvedExperiment resolved = resolve(point);
  return swapped(point, resolved, throughputs_with(resolved, {}, 1, {}), {});
}

const SwapGain* found(const std::vector<SwapGain>& swaps, const std::string& pointer,
                      const Json& to)
{
  const auto it = std::ranges::find_if(
      swaps, [&](const SwapGain& swap) { return swap.pointer == pointer && swap.to == to; });
  return it == swaps.end() ? nullptr : &*it;
}

bool some(const std::vector<SwapGain>& swaps, const std::string& pointer)
{
  return std::ranges::any_of(swaps, [&](const SwapGain& swap) { return swap.pointer == pointer; });
}

Json job(const Json& changes)
{
  Json made = {{"model", "alexnet"},
               {"framework", "tensorflow-horovod"},
               {"batch_per_gpu", 64},
               {"gpus", 8},
               {"precision", "fp16"}};
  made.update(changes);
  return made;
}

} // namespace

TEST_CASE("a job is offered other choices in place of its own stack", "[long]")
{
  const Json network = {{"network", "flannel-vxlan"}};
  const Json cluster = {{"platform", "c4140-k-v100-sxm2"}, {"nodes", 2}};
  const auto own =
      swaps_of({{"cluster", cluster}, {"jobs", Json::array({job({{"stack", network}})})}});
  const auto all = swaps_of(
      {{"cluster", cluster}, {"stack", network}, {"jobs", Json::array({job(Json::object())})}});
  const SwapGain* rdma = found(own[0], "/jobs/0/stack/network", "rdma");
  REQUIRE(rdma != nullptr);
  CHECK(rdma->gain > 1);
  CHECK(rdma->gain == found(all[0], "/stack/network", "rdma")->gain); // the same system
  CHECK(rdma->from == "flannel-vxlan");
  CHECK_FALSE(some(own[0], "/stack/network"));
  CHECK(some(own[0], "/stack/host"));                          // of which it has no other
  CHECK(found(all[0], "/stack/network", "virtio") == nullptr); // nothing is virtual
  CHECK(found(all[0], "/stack/network", "flannel-vxlan-on-virtio") == nullptr);
}

TEST_CASE("storage that is rented with machines is offered for such machines alone", "[long]")
{
  const auto swaps = [](const char* platform) {
    return swaps_of(
        {{"cluster", {{"platform", platform}, {"storage", "nfs-nlsas"}}},
         {"jobs", Json::array({job({{"gpus", 4}, {"input", {{"format", "jpeg"}}}})})}})[0];
  };
  const auto bought = swaps("c4140-m-v100-sxm2"), rented = swaps("p3-16xlarge");
  CHECK(found(bought, "/cluster/storage", "nfs-ssd") != nullptr);
  CHECK(found(bought, "/cluster/storage", "efs-elastic") == nullptr);
  CHECK(found(bought, "/cluster/storage", "gce-pd-ssd") == nullptr);
  CHECK(found(rented, "/cluster/storage", "efs-elastic") != nullptr);
}

TEST_CASE("fewer threads that decode are offered where they starve what drives the GPUs", "[long]")
{
  const auto swaps_with = [](const Json& input) {
    return swaps_of({{"cluster", {{"platform", "c4140-m-v100-sxm2"}, {"storage", "nvme"}}},
                     {"jobs", Json::array({job({{"model", "googlenet"},
                                                {"gpus", 4},
                                                {"batch_per_gpu", 256},
                                                {"input", input}})})}})[0];
  };
  const auto swaps = swaps_with({{"format", "tfrecord"}});
  const SwapGain* cores = found(swaps, "/jobs/0/input/threads", 40);
  const auto in_one_word = swaps_with("tfrecord");
  REQUIRE(in_one_word.size() == swaps.size());
  for (std::size_t i = 0; i < swaps.size(); ++i) {
    CHECK(in_one_word[i].pointer == swaps[i].pointer);
    CHECK(in_one_word[i].from == swaps[i].from);
    CHECK(in_one_word[i].gain == swaps[i].gain);
  }
  REQUIRE(cores != nullptr);
  CHECK(cores->gain > 0.2);
}

} // namespace foretrain::explain_swaps_test
