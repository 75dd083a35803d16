// What a comparison says, from results whose numbers are known, and of systems simulated here.
#include "experiments/answers/compare.hpp"

#include "experiments/answers/comparisons.hpp"
#include "experiments/report/report_compare.hpp"
#include "sim/base/error.hpp"
#include "tests/experiments/told.hpp"
#include "tests/support/catch.hpp"

#include <cmath>

namespace foretrain::compare_test {

using namespace foretrain::experiments;
using Catch::Matchers::Contains;

namespace {

using Effects = std::vector<std::pair<std::string, double>>;

JobResult job(double rate, const Effects& effects, double run_to_run = 0)
{
  Json contributions = Json::array();
  for (const auto& [name, effect] : effects)
    contributions.push_back({{"parameter", name}, {"effect", effect}});
  return test::told_job(
      {{"gpus", 8},
       {"throughput_samples_per_s", {{"median", rate}}},
       {"step_time_s", {{"median", 1000 / rate}}},
       {"time_s", {{"compute", 0.4}, {"exposed_communication", std::max(0.0, 1000 / rate - 0.4)}}},
       {"bottleneck", {{"resource", "link"}}},
       {"uncertainty",
        {{"from_parameters", 0.1}, {"run_to_run", run_to_run}, {"contributions", contributions}}}});
}

CompareSide side(const std::vector<std::pair<int, JobResult>>& points)
{
  CompareSide side{"side", {}, {}};
  for (const auto& [gpus, of] : points)
    side.points.push_back({"e", {{"/jobs/0/gpus", gpus}}, Json(), {of}});
  return side;
}

double probability(double z)
{
  return 0.5 * std::erfc(-z / std::sqrt(2.0));
}

} // namespace

TEST_CASE("Guests widen a comparison by those that are slower, and by those that are faster")
{
  JobResult guest = job(1050, {{"gpu", 0.03}});
  guest.uncertainty->guest = GuestSpread{"vm", 0.4 * 1.644854, 0.1 * 1.644854};
  const auto ratio = [](const JobResult& a, const JobResult& b) {
    return compare(side({{8, a}}), side({{8, b}}), {}).pairs[0].ratio;
  };
  const Range b_guest = ratio(job(1000, {}), guest);
  CHECK(b_guest.low == Approx(1.05 * std::exp(-1.644854 * std::hypot(0.03, 0.4))).epsilon(1e-5));
  CHECK(b_guest.high == Approx(1.05 * std::exp(1.644854 * std::hypot(0.03, 0.1))).epsilon(1e-5));
  const Range a_guest = ratio(guest, job(1000, {}));
  CHECK(a_guest.low == Approx(std::exp(-1.644854 * std::hypot(0.03, 0.1)) / 1.05).epsilon(1e-5));
  CHECK(a_guest.high == Approx(std::exp(1.644854 * std::hypot(0.03, 0.4)) / 1.05).epsilon(1e-5));
}

TEST_CASE("A parameter that can only cost widens a comparison on one side")
{
  // Larger costs A 20 %, smaller brings it 1 %: B / A is up to 20 % more, and 1 % less.
  JobResult a = job(1000, {{"host", -0.2}, {"gpu", 0.03}});
  a.uncertainty->parts[0].if_larger = -0.2;
  a.uncertainty->parts[0].if_smaller = -0.01;
  const auto pair = [](const JobResult& first, const JobResult& second) {
    return compare(side({{8, first}}), side({{8, second}}), {}).pairs[0];
  };
  const double k = 1.644853626951;
  const JobComparison ahead = pair(a, job(1050, {}));
  CHECK_THAT(ahead.ratio.low, test::is(1.05 * std::exp(-k * std::hypot(0.01, 0.03))));
  CHECK_THAT(ahead.ratio.high, test::is(1.05 * std::exp(k * std::hypot(0.2, 0.03))));
  CHECK_THAT(ahead.probability_b_faster,
             test::is(probability(std::log(1.05) / std::hypot(0.01, 0.03))));
  const JobComparison behind = pair(a, job(950, {}));
  CHECK_THAT(behind.probability_b_faster,
             test::is(probability(std::log(0.95) / std::hypot(0.2, 0.03))));
  const JobComparison other = pair(job(1050, {}), a);
  CHECK_THAT(other.ratio.low, test::is(1 / ahead.ratio.high));
  CHECK_THAT(other.ratio.high, test::is(1 / ahead.ratio.low));
  // Of a parameter that both have, what remains.
  JobResult b = a;
  b.uncertainty->parts[0].if_smaller = -0.03;
  CHECK_THAT(pair(a, b).ratio.high, test::is(std::exp(k * 0.02)));
  CHECK(pair(a, b).ratio.low == 1);
}

TEST_CASE("What both sides share cancels, what only one has does not")
{
  const double ln = std::log(1.05);
  const auto answer = compare(side({{8, job(1000, {{"gpu", 0.1}, {"link", 0.03}})}}),
                              side({{8, job(1050, {{"gpu", 0.1}, {"tcp", 0.04}})}}), {});
  const JobComparison& pair = answer.pairs[0];
  CHECK_THAT(pair.ratio.median, test::is(1.05));
  CHECK_THAT(pair.probability_b_faster, test::is(probability(ln / 0.05)));
  CHECK_THAT(pair.ratio.high, test::is(1.05 * std::exp(1.644853626951 * 0.05)));
  const auto sure =
      compare(side({{8, job(1000, {{"gpu", 0.1}})}}), side({{8, job(1001, {{"gpu", 0.1}})}}), {});
  CHECK(sure.pairs[0].probability_b_faster == 1.0);
}

TEST_CASE("A bound is broken, holds, or nobody can tell; only a broken one counts")
{
  CompareOptions options;
  options.fail_below = 0.95;
  const auto state = [&options](double rate, double run_to_run) {
    const auto answer =
        compare(side({{8, job(1000, {})}}), side({{8, job(rate, {}, run_to_run)}}), options);
    const BoundState found = answer.pairs[0].bounds[0].state;
    CHECK(answer.broken == (found == BoundState::broken));
    return found;
  };
  CHECK(state(900, 0.01) == BoundState::broken);
  CHECK(state(940, 0.02) == BoundState::undecided); // half a standard deviation below
  CHECK(state(940, 0.001) == BoundState::broken);
  CHECK(state(1000, 0.02) == BoundState::holds);
  options.confidence = 0.6;
  CHECK(state(940, 0.02) == BoundState::broken);
  options.fail_below.reset();
  options.fail_above = 1.05;
  CHECK(state(1200, 0.01) == BoundState::broken);
}

TEST_CASE("Points of sweeps are matched by settings, those without counterpart are counted")
{
  const auto a = side({{1, job(100, {})}, {2, job(200, {})}, {4, job(400, {})}});
  const auto b = side({{4, job(500, {})}, {2, job(210, {})}});
  const auto answer = compare(a, b, {});
  REQUIRE(answer.pairs.size() == 2);
  CHECK_THAT(answer.pairs[0].ratio.median, test::is(1.05));
  CHECK_THAT(answer.pairs[1].ratio.median, test::is(1.25));
  CHECK(answer.unmatched.a == 1);
  CHECK(answer.unmatched.b == 0);
  CHECK_THAT(report_compare(answer), Contains("1 points of A have no counterpart"));
  CHECK_THROWS_AS(compare(a, side({{3, job(1, {})}, {5, job(1, {})}}), {}), UsageError);
}

TEST_CASE("Chosen points of one sweep are compared with each other")
{
  auto a = side({{2, job(200, {})}, {4, job(380, {})}});
  auto b = a;
  keep_where(a, {"/jobs/0/gpus=2"});
  keep_where(b, {"/jobs/0/gpus=4"});
  const auto answer = compare(a, b, {});
  CHECK_THAT(answer.pairs[0].ratio.median, test::is(1.9));
  CHECK(written(answer.pairs[0]).at("differs") ==
        Json::array({{{"pointer", "/jobs/0/gpus"}, {"a", 2}, {"b", 4}}}));
  CHECK_THROWS_AS(keep_where(a, {"/jobs/0/gpus=7"}), UsageError);
  CHECK_THROWS_AS(keep_where(a, {"gpus"}), UsageError);
}

TEST_CASE("Causes are parts of the step for the same samples, the largest first")
{
  JobResult slow = job(500, {}); // 2 s a step, of which 1.6 s communication
  const auto answer = compare(side({{8, job(1000, {})}}), side({{8, slow}}), {});
  const std::vector<DifferenceCause>& causes = answer.pairs[0].causes;
  REQUIRE(causes.size() == 1);
  CHECK(causes[0].part == "exposed_communication");
  CHECK_THAT(causes[0].difference.value(), test::is(1.0));
  CHECK_THAT(causes[0].share, test::is(1.0));
  slow.step_time.median = 4.0; // of twice as many samples: all parts count half
  const auto halved = compare(side({{8, job(1000, {})}}), side({{8, slow}}), {});
  CHECK_THAT(halved.pairs[0].causes[0].part,
             Contains("exposed_communication") || Contains("compute"));
  CHECK(!halved.warnings.empty());
  CHECK_THAT(report_compare(halved), Contains("  - for as many samples "));
  CHECK_THAT(report_compare(answer), !Contains("for as many samples"));
}

TEST_CASE("Samples of different numbers of tokens are compared by tokens")
{
  const auto model = [](double rate, double tokens_per_sample) {
    JobResult of = job(rate, {});
    of.tokens_per_s = scaled(of.throughput, tokens_per_sample);
    return side({{8, of}});
  };
  CompareOptions options;
  options.fail_below = 1;
  const auto answer = compare(model(1000, 2048), model(1500, 1024), options);
  const JobComparison& pair = answer.pairs[0];
  CHECK(pair.counted_in == CountedIn::tokens);
  CHECK(pair.ratio.median == Approx(0.75));
  CHECK(pair.probability_b_faster < 0.5);
  CHECK(pair.bounds[0].probability_broken == Approx(1 - pair.probability_b_faster));
  CHECK_FALSE(pair.same_work());
  // Steps of 1 s and 2 / 3 s hold twice as many tokens in A as in B.
  CHECK(pair.causes[0].part == "compute");
  CHECK(pair.causes[0].b.value() == Approx(0.8));
  CHECK_THAT(report_compare(answer), Contains("B tokens/s") && Contains("for as many tokens "));
  CHECK_THAT(Json(answer.warnings).dump(), Contains("different numbers of tokens"));
  // As many tokens a sample: as ever.
  const auto same = compare(model(1000, 2048), model(1500, 2048), options);
  CHECK(same.pairs[0].counted_in == CountedIn::samples);
  CHECK(same.pairs[0].ratio.median == Approx(1.5));
}

TEST_CASE("Each differing setting is told alone")
{
  const auto text = [](const std::string& network, int batch) {
    return R"({"cluster": {"platform": "c4140-k-v100-sxm2"}, "stack": {"network": ")" + network +
           R"("}, "jobs": [{"model": "resnet50", "framework": "pytorch-horovod", "batch_per_gpu": )" +
           std::to_string(batch) + R"(, "gpus": 8}]})";
  };
  const auto point = [&text](const std::string& network, int batch, double rate) {
    auto document = parse_document(text(network, batch), "test");
    ComparedPoint it{"e", Json::object(), document->root, {job(rate, {})}};
    it.point = Point{{}, document, nullptr};
    return CompareSide{network, {it}, {}};
  };
  const auto answer = compare(point("rdma", 64, 1000), point("tcp", 32, 100), {});
  const JobComparison& pair = answer.pairs[0];
  CHECK(pair.differs.size() == 2);
  REQUIRE(pair.settings_alone.size() == 2);
  CHECK(pair.settings_alone[0].setting.pointer == "/stack/network"); // over 10 Gb/s Ethernet
  CHECK(pair.settings_alone[0].ratio < 0.7);
}

TEST_CASE("A longer sequence alone counts by its tokens")
{
  const auto side_of = [](int sequence, int batch) {
    const auto document = parse_document(
        R"({"cluster": {"platform": "hgx-h100"}, "jobs": [{"model": "gpt2-small", "gpus": 1,
            "framework": "nemo", "precision": "bf16", "sequence": )" +
            std::to_string(sequence) + R"(, "global_batch": )" + std::to_string(batch) + "}]}",
        "test");
    ComparedPoint it{"e", Json::object(), document->root, {job(1000, {})}};
    it.point = Point{{}, document, nullptr};
    return CompareSide{"side", {it}, {}};
  };
  const auto answer = compare(side_of(1024, 32), side_of(512, 64), {});
  for (const SettingAlone& it : answer.pairs[0].settings_alone)
    if (it.setting.pointer == "/jobs/0/sequence")
      CHECK(it.ratio < 1); // more samples, of half the tokens each
  CHECK(answer.pairs[0].settings_alone.size() == 2);
}

TEST_CASE("Two jobs that are compared are one, whatever people call them")
{
  const JobResult a = job(1000, {{"train: time of kernels", 0.1}, {"gpu", 0.03}});
  JobResult b = job(1100, {{"other: time of kernels", 0.1}, {"gpu", 0.03}});
  const auto high = [&] { return compare(side({{8, a}}), side({{8, b}}), {}).pairs[0].ratio.high; };
  b.name = "others"; // what is another job's stays its own
  CHECK(high() == Approx(1.1 * std::exp(1.644854 * std::hypot(0.1, 0.1))).epsilon(1e-5));
  b.name = "other";
  CHECK(high() == Approx(1.1));
}

} // namespace foretrain::compare_test
