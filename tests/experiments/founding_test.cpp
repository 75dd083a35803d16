// Claims of documents, judged.
#include "experiments/validate/founding.hpp"

#include "tests/experiments/calibrate_support.hpp"
#include "tests/support/catch.hpp"

namespace foretrain::test {
namespace {

using namespace experiments;

// What becomes of one claim about "one": a job on one GPU.
ClaimVerdict judged(const Json& claim)
{
  const Json job = {
      {"model", "resnet50"}, {"framework", "pytorch-ddp"}, {"batch_per_gpu", 64}, {"gpus", 1}};
  const Json file = {
      {"format", "foretrain.claims/1"},
      {"experiments",
       {{"one", {{"cluster", {{"platform", "c4140-k-v100-sxm2"}}}, {"jobs", Json::array({job})}}}}},
      {"claims", Json::array({claim})}};
  const LogFolder folder;
  const ClaimsFile claims = load_claims(folder.write("claims.json", file.dump()));
  RunOptions options;
  options.uncertainty.method = UncertaintyMethod::steps;
  return judge_claims(claims, options, 1, [](int, int) {})->front();
}

// Whether a larger batch does more, of batches in this order.
bool holds(const std::vector<int>& batches, double ties)
{
  Json claim = {{"id", "made"}, {"says", "in this order"}, {"experiment", "one"}, {"ties", ties}};
  for (const int batch : batches)
    claim["order"].push_back({{"/jobs/0/batch_per_gpu", batch}});
  const ClaimVerdict verdict = judged(claim);
  REQUIRE(verdict.numbers.size() == batches.size());
  return verdict.holds;
}

TEST_CASE("a claim may be about the ratio of two quantities of one job")
{
  const ClaimVerdict verdict = judged({{"id", "made"},
                                       {"says", "samples of a step"},
                                       {"experiment", "one"},
                                       {"settings", {{"/jobs/0/gpus", 4}}},
                                       {"quantity", "/speedup"},
                                       {"than_quantity", "/efficiency"},
                                       {"published", 4}});
  REQUIRE(verdict.numbers.size() == 1);
  CHECK(verdict.numbers[0] == Approx(4).epsilon(1e-9));
}

TEST_CASE("an order holds where neighbours miss it by no more than ties, and its ends differ")
{
  CHECK(holds({64, 16}, 0));
  CHECK_FALSE(holds({16, 64}, 0));
  CHECK(holds({64, 28, 32}, 0.1));
  CHECK_FALSE(holds({64, 28, 32}, 0));
  CHECK_FALSE(holds({64, 64}, 0.05)); // says nothing of which is quicker
  CHECK_FALSE(holds({28, 32}, 0.1));  // the other way round
}

} // namespace
} // namespace foretrain::test
