// Recordings of several ranks: what a rank computed, what it exchanged, what waited for what.
#include "models/networks/network.hpp"
#include "models/traces/kineto.hpp"
#include "models/traces/recorded_model.hpp"
#include "models/traces/recorded_timeline.hpp"
#include "sim/base/error.hpp"

#include "tests/models/traces/kineto_support.hpp"
#include "tests/support/catch.hpp"

namespace foretrain::test::recorded_exchanges_test {
namespace {

using namespace models;

constexpr double kUs = 1e-6;

Json message(const char* name, int in, int out, int group, const char* ranks = "")
{
  return {{"stream", 20},
          {"Collective name", name},
          {"In msg nelems", in},
          {"Out msg nelems", out},
          {"Group size", group},
          {"dtype", "Float"},
          {"Process Group Ranks", ranks}};
}

// Steps of 1000 us: a product of 200, an all-to-all of 100 that the next kernel waits for, a kernel
// of 300, and `late` us in which the all-to-all waited for others besides.
MadeTrace exchanging(int steps, double late_in_step_1 = 0)
{
  MadeTrace trace;
  for (int s = 0; s < steps; ++s) {
    const double t = 1000.0 * s;
    const double late = s == 1 ? late_in_step_1 : 0;
    trace.host("user_annotation", "ProfilerStep#" + std::to_string(s), 1, t, 999);
    trace.kernel("volta_sgemm_128x64_nn", 1, t + 10, t + 20, 200);
    trace.kernel("ncclDevKernel_SendRecv(ncclDevKernelArgs)", 1, t + 15, t + 220, 100 + late,
                 message("all_to_all", 25000000, 25000000, 2));
    trace.kernel("void elementwise_kernel", 1, t + 18, t + 321 + late, 300);
  }
  return trace;
}

TEST_CASE("an exchange is cut out where it was released and waited for")
{
  const Trace trace = read_made(exchanging(4));
  const Steps steps = find_steps(trace);
  const RecordedRank rank = recorded_rank(trace, steps);
  REQUIRE(rank.alone.exchanges.size() == 1);
  CHECK(rank.alone.exchanges[0].kind == "all-to-all");
  CHECK(rank.alone.exchanges[0].bytes == 100e6);
  CHECK(rank.alone.exchanges[0].group == 2);
  CHECK(rank.alone.exchanges[0].waited == Approx(0).margin(1e-9));
  const auto& pieces = rank.alone.line.pieces;
  REQUIRE(pieces.size() == 3);
  CHECK(pieces[0].work.product.value() == Approx(200 * kUs));
  CHECK(pieces[0].starts == std::vector<int>{0});
  CHECK(pieces[1].after == std::vector<int>{0});
  CHECK(pieces[1].work.memory.value() == Approx(300 * kUs));
  CHECK(pieces[1].work.idle.value() == Approx(1 * kUs).epsilon(0.01));
  CHECK(pieces[2].phase == "host"); // until the next step
  CHECK(pieces[2].work.idle.value() == Approx(399 * kUs).epsilon(1e-3));
}

TEST_CASE("an exchange over half a gigabyte a second is slow, and waits for nobody")
{
  MadeTrace trace;
  for (int s = 0; s < 4; ++s) {
    const double t = 200e3 * s;
    trace.host("user_annotation", "ProfilerStep#" + std::to_string(s), 1, t, 199e3);
    trace.kernel("volta_sgemm_128x64_nn", 1, t + 10, t + 20, 200);
    trace.kernel("ncclDevKernel_SendRecv(ncclDevKernelArgs)", 1, t + 15, t + 220, 100e3,
                 message("all_to_all", 25000000, 25000000, 2)); // 50 MB to the other rank
  }
  const Trace read = read_made(trace);
  const RecordedRank rank = recorded_rank(read, find_steps(read));
  REQUIRE(rank.alone.exchanges.size() == 1);
  CHECK(rank.alone.exchanges[0].waited == 0);
}

TEST_CASE("an exchange behind another one was released by the kernels launched before it")
{
  MadeTrace trace;
  trace.host("user_annotation", "ProfilerStep#0", 1, 0, 2000);
  trace.kernel("volta_sgemm_128x64_nn", 1, 10, 20, 200);
  trace.kernel("ncclDevKernel_SendRecv", 1, 15, 220, 480, message("all_to_all", 100, 100, 2));
  trace.kernel("void elementwise_kernel", 1, 18, 221, 400); // until 621
  trace.kernel("ncclDevKernel_SendRecv", 1, 22, 701, 100, message("all_to_all", 100, 100, 2));
  trace.kernel("void elementwise_kernel", 1, 25, 900, 50); // launched later: not waited for
  const Trace read = read_made(trace);
  const RecordedExchanges found = find_exchanges(read, find_steps(read).list.at(0));
  REQUIRE(found.list.size() == 2);
  CHECK(found.list[1].start - found.list[0].start == Approx(481 * kUs));
  CHECK(found.list[1].released - found.list[0].start == Approx((621 - 220) * kUs));
  CHECK(found.list[0].released == found.list[0].start);
}

TEST_CASE("what an exchange took longer than its like is told as waiting")
{
  const Trace trace = read_made(exchanging(4, 150));
  const Steps steps = find_steps(trace);
  const RecordedRank quick = recorded_rank(trace, steps, "ProfilerStep#2");
  const RecordedRank late = recorded_rank(trace, steps, "ProfilerStep#1");
  CHECK(quick.alone.exchanges[0].waited == Approx(0).margin(1e-9));
  CHECK(late.alone.exchanges[0].waited == Approx(150 * kUs).epsilon(1e-6));
}

TEST_CASE("a tiny message that took long waited, although it has no like")
{
  MadeTrace trace;
  trace.host("user_annotation", "ProfilerStep#0", 1, 0, 5000);
  trace.kernel("volta_sgemm_128x64_nn", 1, 10, 20, 200);
  trace.kernel("ncclDevKernel_SendRecv", 1, 15, 220, 3000, message("all_to_all", 6, 6, 2));
  trace.kernel("void elementwise_kernel", 1, 18, 3221, 300);
  const Trace read = read_made(trace);
  const RecordedRank rank = recorded_rank(read, find_steps(read));
  REQUIRE(rank.alone.exchanges.size() == 1);
  CHECK(rank.alone.exchanges[0].waited ==
        Approx(2950 * kUs).epsilon(1e-3)); // 50 us are a slow begin
  CHECK(rank.alone.line.pieces.back().phase == "host");
}

TEST_CASE("a kernel that was launched later for its own reasons waits for no exchange")
{
  MadeTrace trace;
  for (int s = 0; s < 3; ++s) {
    const double t = 1000.0 * s;
    trace.host("user_annotation", "ProfilerStep#" + std::to_string(s), 1, t, 999);
    trace.kernel("volta_sgemm_128x64_nn", 1, t + 10, t + 20, 100);
    trace.kernel("ncclDevKernel_AllGather", 1, t + 15, t + 120, 50,
                 message("_allgather_base", 1000, 2000, 2));
    trace.kernel("void elementwise_kernel", 1, t + 300, t + 310, 100); // launched after its end
  }
  const Trace read = read_made(trace);
  const RecordedRank rank = recorded_rank(read, find_steps(read));
  REQUIRE(rank.alone.exchanges.size() == 1);
  CHECK(rank.alone.exchanges[0].kind == "all-gather");
  CHECK(rank.alone.exchanges[0].bytes == 8000); // of the gathered buffer
  double idle = 0;
  for (const MeasuredPiece& piece : rank.alone.line.pieces)
    if (piece.phase != "host")
      idle += piece.work.idle.value();
  CHECK(idle == Approx(190 * kUs).epsilon(1e-3)); // all of it the rank's own
}

TEST_CASE("groups are told by their ranks and what cannot be simulated is told")
{
  MadeTrace trace;
  for (int s = 0; s < 3; ++s) {
    const double t = 1000.0 * s;
    trace.host("user_annotation", "ProfilerStep#" + std::to_string(s), 1, t, 999);
    trace.kernel("volta_sgemm_128x64_nn", 1, t + 10, t + 20, 100);
    trace.kernel("ncclDevKernel_ReduceScatter_Sum_bf16", 1, t + 15, t + 120, 50,
                 message("_reduce_scatter_base", 4000, 1000, 4, "[0, 2, 4, 6]"));
    trace.kernel("ncclDevKernel_SendRecv", 1, t + 16, t + 200, 50, message("send", 10, 10, 2));
    trace.kernel("ncclDevKernel_AllReduce_Sum_f32", 1, t + 17, t + 260, 50,
                 message("allreduce", 10, 10, 3, "[0, 1, 5]"));
    Json listed = message("broadcast", 10, 10, 2);
    listed["Process Group Ranks"] = {1, 5};
    trace.kernel("ncclDevKernel_Broadcast_RING_LL", 1, t + 18, t + 330, 50, listed);
  }
  const Trace read = read_made(trace);
  const RecordedRank rank = recorded_rank(read, find_steps(read));
  REQUIRE(rank.alone.exchanges.size() == 2);
  CHECK(rank.alone.exchanges[1].kind == "broadcast");
  CHECK(rank.alone.exchanges[1].stride == 4);
  CHECK(rank.alone.exchanges[0].stride == 2);
  CHECK(rank.alone.exchanges[0].bytes == 16000); // of the whole buffer
  REQUIRE(rank.alone.notes.size() == 2);
  CHECK_THAT(rank.alone.notes[0], Catch::Contains("unequal distances"));
  CHECK_THAT(rank.alone.notes[1], Catch::Contains("send kernels that are no collective"));
  const auto exchanges = measured_exchanges(rank.alone.exchanges, 8);
  CHECK(exchanges[0].group == 4);
  CHECK(exchanges[0].stride == 2);
  CHECK(measured_exchanges(rank.alone.exchanges, 4)[0].group == 0); // all of the job
}

TEST_CASE("lists of ranks that PyTorch cut go on at their distance")
{
  const auto all = [](int first, int stride, int group) {
    std::vector<int> ranks;
    for (int i = 0; i < group; ++i)
      ranks.push_back(first + i * stride);
    return ranks;
  };
  CHECK(members_of("[0, 8, 16, ..., 248]", 32) == all(0, 8, 32));
  CHECK(members_of("[3, 11, 19, ...]", 32) == all(3, 8, 32));
  CHECK(members_of("[0, 2, 4]", 3) == all(0, 2, 3));
  using Ranks = std::vector<int>; // what does not go on is as it is told
  CHECK(members_of("[0, 8, 16, ..., 247]", 32) == Ranks{0, 8, 16, 247});
  CHECK(members_of("[0, 8, 17, ...]", 32) == Ranks{0, 8, 17});
  CHECK(members_of("[0, 8]", 32) == Ranks{0, 8});
  CHECK(members_of("[0, ...]", 32) == Ranks{0});
}

TEST_CASE("a group whose ranks are told in part counts as neighbours, and it is told")
{
  const auto notes_of = [](const char* ranks, int group) {
    MadeTrace trace;
    trace.world = 8;
    trace.host("user_annotation", "ProfilerStep#0", 1, 0, 999);
    trace.kernel("volta_sgemm_128x64_nn", 1, 10, 20, 100);
    trace.kernel("ncclDevKernel_AllReduce_Sum_f32", 1, 15, 120, 50,
                 message("allreduce", 1000, 1000, group, ranks));
    const Trace read = read_made(trace);
    const RecordedExchanges found = find_exchanges(read, find_steps(read).list[0]);
    REQUIRE(found.list.size() == 1);
    CHECK(found.list[0].stride == 1);
    return found.notes;
  };
  for (const char* ranks : {"", "[0, 1, 2]"})
    CHECK_THAT(notes_of(ranks, 4).at(0), Catch::Contains("1 collectives are of some of the ranks"));
  CHECK(notes_of("[0, 1, 2, 3]", 4).empty());
  CHECK(notes_of("", 8).empty()); // all of them
}

TEST_CASE("what the device waited for collectives that are not simulated stays as idle time")
{
  const auto model_of = [](const char* type, const char* kernel) {
    MadeTrace trace = made_steps(4);
    for (int s = 0; s < 4; ++s) // from the last kernel of backward to the optimizer's, and in it
      trace.kernel(kernel, 2, 1000.0 * s + 70, 1000.0 * s + 720, 100,
                   {{"stream", 20}, {"In msg nelems", 1000}, {"Group size", 2}, {"dtype", type}});
    const Trace read = read_made(trace);
    return recorded_model(read, find_steps(read), {});
  };
  const RecordedModel untold = model_of("Strange", "ncclKernel_AllReduce");
  CHECK(untold.json["measured"]["optimizer"]["idle"] == "0 us");
  CHECK(untold.json["measured"].count("exchanges") == 0);
  CHECK_THAT(untold.notes.back(), Catch::Contains("1 all-reduce kernels whose size is not told"));
  CHECK(model_of("Float", "ncclKernel_AllReduce").json["measured"]["exchanges"][0]["size"] ==
        "4000 B");
  CHECK(model_of("Strange", "ncclDevKernel_AllReduce_Sum_f16_RING_LL")
            .json["measured"]["exchanges"][0]["size"] == "2000 B");
}

TEST_CASE("the model of a recording holds its exchanges and reads back")
{
  const Trace trace = read_made(exchanging(4, 150));
  const auto model = recorded_model(trace, find_steps(trace), {.name = "made"});
  const Network network = load_network(Value(parse_document(model.json.dump(), "made.json")));
  REQUIRE(network.measured->exchanges.size() == 1);
  CHECK(network.measured->exchanges[0].size == Bytes(100e6));
  CHECK(network.measured->lines[0].pieces.size() == 3);
  CHECK(network.measured->ranks == 2);
  const auto gradients =
      recorded_model(trace, find_steps(trace), {.name = "made", .gradients_only = true});
  CHECK(!gradients.json["measured"].contains("exchanges"));
}

TEST_CASE("ranks of one job are joined: their waiting follows from their lines")
{
  const Trace one = read_made(exchanging(4, 150));
  const Trace two = read_made(exchanging(4));
  const auto first = recorded_rank(one, find_steps(one), "ProfilerStep#1");
  auto second = recorded_rank(two, find_steps(two), "ProfilerStep#1");
  auto model = recorded_model(one, find_steps(one), {.name = "made", .ranks_follow = true});
  const auto joined = with_ranks(model, {first, second});
  CHECK(joined.json["measured"]["lines"].size() == 2);
  CHECK(!joined.json["measured"]["exchanges"][0].contains("waited"));
  second.alone.exchanges[0].kind = "broadcast";
  CHECK_THROWS_AS(with_ranks(model, {first, second}), ConfigError);
  second.alone.exchanges.clear();
  CHECK_THROWS_AS(with_ranks(model, {first, second}), ConfigError);
}

TEST_CASE("a file whose lines start exchanges in another order is refused")
{
  const Trace trace = read_made(exchanging(4));
  const auto model = recorded_model(trace, find_steps(trace), {.name = "made"});
  const auto problem = [&model](const std::string& pointer, const Json& value) {
    return refusal_of(model.json, pointer, value);
  };
  const std::string pieces = "/measured/lines/0/pieces/";
  CHECK_THAT(problem(pieces + "0/starts", {1}), Catch::Contains("next one here is 0"));
  CHECK_THAT(problem(pieces + "0/starts", Json::array()),
             Catch::Contains("which no piece before it starts"));
  CHECK_THAT(problem(pieces + "2/starts", {0}), Catch::Contains("next one here is 1"));
  CHECK_THAT(problem("/measured/lines", Json::array()), Catch::Contains("stand without"));
}

} // namespace
} // namespace foretrain::test::recorded_exchanges_test
