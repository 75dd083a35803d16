// Claims of documents, judged.
#include "experiments/validate/founding_gate.hpp"
#include "experiments/validate/founding_table.hpp"

#include "tests/experiments/calibrate_support.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <set>

namespace foretrain::test::founding_test {
namespace {

using namespace experiments;

// A file of one claim about "one", a job on one GPU.
ClaimsFile file_of(const Json& more)
{
  Json claim = {{"id", "made"}, {"document", "book"}, {"quote", "so it is"}, {"says", "it"}};
  claim.update(more);
  const Json job = {
      {"model", "resnet50"}, {"framework", "pytorch-ddp"}, {"batch_per_gpu", 64}, {"gpus", 1}};
  const Json file = {
      {"format", "foretrain.claims/1"},
      {"documents", {{"book", "A book"}}},
      {"experiments",
       {{"one", {{"cluster", {{"platform", "c4140-k-v100-sxm2"}}}, {"jobs", Json::array({job})}}}}},
      {"claims", Json::array({claim})}};
  const LogFolder folder;
  return load_claims(folder.write("claims.json", file.dump()));
}

struct Judged {
  ClaimsFile file;
  ClaimVerdict verdict;
};

Judged judged(const Json& claim)
{
  Judged result{file_of(claim), {}};
  result.verdict = judge_claims(result.file, {}, 1, [](int, int) {})->front();
  return result;
}

Json batch(int images)
{
  return {{"/jobs/0/batch_per_gpu", images}};
}

bool order_holds(const std::vector<int>& batches, const Json& relations = Json::array())
{
  Json claim = {{"experiment", "one"}, {"relations", relations}};
  for (const int images : batches)
    claim["order"].push_back({{"settings", batch(images)}});
  const Judged it = judged(claim);
  REQUIRE(it.verdict.numbers.size() == batches.size());
  return it.verdict.holds;
}

TEST_CASE("a claim may be about the ratio of two quantities of one job")
{
  const Judged it = judged({{"experiment", "one"},
                            {"settings", {{"/jobs/0/gpus", 4}}},
                            {"quantity", "/speedup"},
                            {"than_quantity", "/efficiency"},
                            {"published", 4},
                            {"within", 0.01}});
  REQUIRE(it.verdict.numbers.size() == 1);
  CHECK(it.verdict.numbers[0].median == Approx(4).epsilon(1e-9));
  CHECK(it.verdict.holds);
}

TEST_CASE("an order holds where each number is above the next by half a percent of the larger",
          "[founding][long]")
{
  CHECK(order_holds({64, 16}));
  CHECK_FALSE(order_holds({16, 64}));
  CHECK_FALSE(order_holds({64, 64}));     // says nothing of which is quicker
  CHECK_FALSE(order_holds({64, 28, 32})); // one pair the other way round
  CHECK(order_holds({64, 64, 16}, {"=", ">"}));
  CHECK_FALSE(order_holds({64, 16, 16}, {"=", ">"}));
}

TEST_CASE("a claim is about the least, the most, the mean or the spread of several cases", "[long]")
{
  const Json cases = {{{"settings", batch(16)}}, {{"settings", batch(64)}}};
  const auto taken = [&](const char* take) {
    return judged({{"experiment", "one"}, {"each", cases}, {"take", take}, {"at_least", 0}})
        .verdict.numbers.at(0)
        .median;
  };
  CHECK(taken("least") < taken("most"));
  CHECK(taken("mean") == Approx((taken("least") + taken("most")) / 2).epsilon(1e-9));
  CHECK(taken("spread") == Approx(taken("least") / taken("most")).epsilon(1e-9));
}

TEST_CASE("settings of a case are those of both sides, and what a second number leaves out is told")
{
  const Judged it = judged({{"experiment", "one"},
                            {"settings", {{"/jobs/0/precision", "fp16"}}},
                            {"than", Json::object()},
                            {"each", {{{"settings", batch(32)}}}},
                            {"take", "mean"},
                            {"minus", Json::object()},
                            {"published", 0},
                            {"within_points", 0.0001}});
  CHECK(it.verdict.holds);
  CHECK(it.verdict.numbers[0].median == 0);
}

TEST_CASE("parameters widen the interval of a rate, and cancel in that of a ratio")
{
  const Json far = {{"experiment", "one"}, {"published", 1e6}, {"within", 0.01}};
  const Range rate = judged(far).verdict.numbers.at(0);
  Json ratio = far;
  ratio["than"] = Json::object();
  const Judged it = judged(ratio);
  const Range same = it.verdict.numbers.at(0);
  CHECK(it.verdict.inside == false);
  CHECK(it.verdict.ranges_known);
  CHECK(rate.high / rate.median > 1.1);
  CHECK(same.high / same.median < 1.07);
}

TEST_CASE("what was published may lie inside the interval of a claim that is missed")
{
  const double rate = judged({{"experiment", "one"}, {"at_least", 0}}).verdict.numbers.at(0).median;
  const Judged it = judged({{"experiment", "one"}, {"published", 1.1 * rate}, {"within", 0.05}});
  CHECK_FALSE(it.verdict.holds);
  CHECK(it.verdict.inside == true);
}

TEST_CASE("a bound is inside an interval that reaches it", "[long]")
{
  const Range rate =
      judged({{"experiment", "one"}, {"published", 1e6}, {"within", 0.01}}).verdict.numbers.at(0);
  const auto inside = [](double bound) {
    return judged({{"experiment", "one"}, {"at_least", bound}}).verdict.inside;
  };
  CHECK(inside(0.99 * rate.high) == true); // missed, perhaps
  CHECK(inside(1.01 * rate.high) == false);
}

TEST_CASE("a claim about a text holds where the text names one of several")
{
  const Json asked = {{"experiment", "one"}, {"quantity", "/bottleneck/resource"}};
  Json right = asked;
  right["names"] = {"eth0", "gpu0"};
  Json wrong = asked;
  wrong["names"] = {"eth0"};
  CHECK(judged(right).verdict.holds);
  CHECK_FALSE(judged(wrong).verdict.holds);
  CHECK_FALSE(judged(right).verdict.inside.has_value());
}

TEST_CASE("copies between GPUs of a platform can be asked, with an interval")
{
  const Judged it = judged({{"experiment", "one"},
                            {"quantity", "/peer_copies/true/one_way_GB_per_s"},
                            {"published", 60},
                            {"within", 0.01}});
  const Range range = it.verdict.numbers.at(0);
  CHECK(range.median == Approx(47.05).epsilon(0.01)); // two NVLinks at 0.94 of 25 GB/s
  CHECK(range.low < range.median);
}

TEST_CASE(
    "a claim without a bound, with an unknown document or with cases and no choice is refused")
{
  CHECK_THROWS_WITH(file_of({{"experiment", "one"}}), Catch::Contains("says nothing to hold"));
  CHECK_THROWS_WITH(file_of({{"experiment", "one"}, {"at_least", 1}, {"document", "bok"}}),
                    Catch::Contains("did you mean 'book'?"));
  CHECK_THROWS_WITH(file_of({{"experiment", "one"}, {"published", 1}}),
                    Catch::Contains("within or within_points"));
  CHECK_THROWS_WITH(file_of({{"experiment", "one"}, {"at_least", 1}, {"each", {Json::object()}}}),
                    Catch::Contains("take"));
  CHECK_THROWS_WITH(file_of({{"at_least", 1}}), Catch::Contains("needs an experiment"));
}

TEST_CASE("a claim that a quantity cannot answer says so")
{
  const Judged it =
      judged({{"experiment", "one"}, {"quantity", "/latency_s/median"}, {"at_least", 0}});
  CHECK_FALSE(it.verdict.holds);
  CHECK(it.verdict.status == 2);
  CHECK(it.verdict.error.find("/latency_s/median") != std::string::npos);
}

TEST_CASE("a table tells what a claim holds if, and how many do")
{
  const auto told = [](const Json& asked, bool holds = true) {
    Json claim = {{"experiment", "one"}};
    claim.update(asked);
    const ClaimsFile file = file_of(claim);
    ClaimVerdict verdict;
    verdict.claim = &file.claims.front();
    verdict.numbers.assign(file.claims.front().order.empty() ? 1 : 3, Range{2, 1, 4, 0.9});
    verdict.holds = holds;
    const std::string table = claims_table({verdict}, false);
    CHECK_THAT(table, Catch::Contains(holds ? "1 of 1 claims hold (100 %)" : "0 of 1 claims hold"));
    return table;
  };
  using Catch::Contains;
  CHECK_THAT(told({{"published", 5}, {"within", 0.1}}),
             Contains("holds   made: it\n        \"so it is\"\n") &&
                 Contains("holds if 5 within 10 %; no interval\n"));
  CHECK_THAT(told({{"published", 0.5}, {"within_points", 5}}),
             Contains("holds if 0.5 within 0.05"));
  CHECK_THAT(told({{"at_least", 3}}), Contains("holds if at least 3;"));
  CHECK_THAT(told({{"at_most", 3}}), Contains("holds if at most 3;"));
  CHECK_THAT(told({{"at_least", 3}, {"at_most", 4}}), Contains("holds if 3 to 4;"));
  CHECK_THAT(told({{"names", {"gpu0", "eth0"}}}), Contains("holds if it names gpu0 or eth0;"));
  const Json three = {Json::object(), Json::object(), Json::object()};
  CHECK_THAT(told({{"order", three}}), Contains("holds if each is above the next;"));
  CHECK_THAT(told({{"order", three}, {"relations", {"=", ">"}}}),
             Contains("holds if they stand _ = _ > _;"));
  CHECK_THAT(told({{"at_least", 3}, {"missing", "a cable"}}, false),
             Contains("missed  made: it") && Contains("\n        missing: a cable\n"));
}

TEST_CASE("the gate of claims tells those that no longer hold, or are no longer inside")
{
  const ClaimsGate before{{"a", "b"}, {"a", "c"}};
  CHECK(lost_claims(before, before).empty());
  CHECK(lost_claims(before, {{"a", "b", "d"}, {"a", "c"}}).empty());
  const auto lost = lost_claims(before, {{"a"}, {"a"}});
  REQUIRE(lost.size() == 2);
  CHECK(lost[0] == "founding: b no longer holds");
  CHECK(lost[1].find("c is no longer inside") != std::string::npos);
}

TEST_CASE("claims that are bundled have distinct ids, quotations, and name what a missed one lacks")
{
  const ClaimsFile file = load_claims("founding");
  const ClaimsGate gate = load_claims_gate(file);
  std::set<std::string> ids;
  for (const ClaimSpec& claim : file.claims) {
    INFO(claim.id);
    CHECK(ids.insert(claim.id).second);
    CHECK_FALSE(claim.quote.empty());
    const bool held = std::find(gate.held.begin(), gate.held.end(), claim.id) != gate.held.end();
    CHECK(held == claim.missing.empty());
  }
}

} // namespace
} // namespace foretrain::test::founding_test
