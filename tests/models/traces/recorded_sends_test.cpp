// Recordings of pipelines: what ranks send one another, matched and simulated anew.
#include "models/networks/network.hpp"
#include "models/plans/recorded_program.hpp"
#include "models/traces/joined_ranks.hpp"
#include "models/traces/kineto.hpp"
#include "models/traces/recorded_model.hpp"
#include "sim/base/error.hpp"

#include "tests/models/traces/kineto_support.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/plain_machine.hpp"

#include <algorithm>

namespace foretrain::test::recorded_sends_test {
namespace {

using namespace models;

constexpr double kUs = 1e-6;
constexpr const char* kSendRecv = "ncclDevKernel_SendRecv(ncclDevKernelArgs)";

RecordedRank rank_of(const MadeTrace& made)
{
  const Trace trace = read_made(made);
  return recorded_rank(trace, find_steps(trace), "ProfilerStep#1");
}

Json message(const char* name, int bytes, int peer)
{
  const bool sends = std::string(name) == "send";
  return {{"stream", 20},
          {"Collective name", name},
          {"In msg nelems", bytes},
          {"Out msg nelems", bytes},
          {"Group size", 2},
          {"dtype", "Byte"},
          {sends ? "Dst Rank" : "Src Rank", peer}};
}

Json sum(int bytes, const char* members)
{
  return {{"stream", 21},    {"Collective name", "allreduce"}, {"In msg nelems", bytes},
          {"Group size", 2}, {"Process Group Ranks", members}, {"dtype", "Byte"}};
}

// Steps of 1000 us. Rank 0 computes for 200 us, sends `sent` bytes to rank 1 in 100 us, waits for
// what comes back and computes for another 200 us; rank 1 computes for 300 us in between.
MadeTrace first_stage(int sent = 100, int partner = 1)
{
  MadeTrace trace;
  trace.world = 2 * partner;
  for (int s = 0; s < 4; ++s) {
    const double t = 1000.0 * s;
    trace.host("user_annotation", "ProfilerStep#" + std::to_string(s), 1, t, 999);
    trace.kernel("volta_sgemm_128x64_nn", 1, t + 10, t + 20, 200);
    trace.kernel(kSendRecv, 1, t + 13, t + 220, 100, message("send", sent, partner));
    trace.kernel(kSendRecv, 1, t + 16, t + 320, 401, message("recv", 100, partner));
    trace.kernel("void elementwise_kernel", 1, t + 19, t + 722, 200);
  }
  return trace;
}

MadeTrace last_stage(int number = 1)
{
  MadeTrace trace;
  trace.rank = number;
  trace.world = 2 * number;
  for (int s = 0; s < 4; ++s) {
    const double t = 1000.0 * s;
    trace.host("user_annotation", "ProfilerStep#" + std::to_string(s), 1, t, 999);
    trace.kernel(kSendRecv, 1, t + 10, t + 20, 300, message("recv", 100, 0));
    trace.kernel("volta_sgemm_128x64_nn", 1, t + 13, t + 321, 300);
    trace.kernel(kSendRecv, 1, t + 16, t + 621, 100, message("send", 100, 0));
  }
  return trace;
}

MeasuredSpec model_of(const MadeTrace& first, const std::vector<RecordedRank>& ranks,
                      std::vector<std::string>* notes = nullptr)
{
  const Trace trace = read_made(first);
  const auto alone =
      recorded_model(trace, find_steps(trace), {.name = "made", .ranks_follow = true});
  const auto joined = with_ranks(alone, ranks);
  if (notes != nullptr)
    *notes = joined.notes;
  return *load_network(Value(parse_document(joined.json.dump(), "made.json"))).measured;
}

double simulated(const MeasuredSpec& measured, double bytes_per_us, int ranks = 2)
{
  const auto program = recorded_program(measured, {.name = "job", .ranks = ranks});
  sim::Engine engine;
  PlainMachine machine(engine, ranks, BytesPerSecond(bytes_per_us / kUs));
  const sim::WorkOrder order(program);
  sim::Executor executor(engine, program, order, machine);
  Seconds end;
  executor.start(std::vector<double>(program.ranks.size(), 1.0), 0, [&] { end = engine.now(); });
  engine.run();
  return end.value() / kUs;
}

std::string refusal(const std::vector<RecordedRank>& ranks)
{
  try {
    join_ranks(ranks, 2);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST_CASE("a recorded pipeline takes as long as it did, and longer where its sends do",
          "[closed-form]")
{
  const auto measured = model_of(first_stage(), {rank_of(first_stage()), rank_of(last_stage())});
  REQUIRE(measured.exchanges.size() == 2);
  CHECK(measured.exchanges[0].lines == std::vector<int>{0, 1});
  CHECK(measured.exchanges[1].lines == std::vector<int>{1, 0});
  CHECK(measured.exchanges[1].behind == std::vector<int>{0});
  CHECK(measured.exchanges[1].receives_behind == std::vector<int>{0});
  CHECK(measured.exchanges[0].size == Bytes(100));
  CHECK(simulated(measured, 1) == Approx(1000).epsilon(1e-6));
  CHECK(simulated(measured, 0.5) == Approx(1200).epsilon(1e-6)); // two sends of 200 us
  CHECK(simulated(measured, 1, 6) == Approx(1000).epsilon(1e-6));
}

TEST_CASE("clocks of ranks are set by the ends of their sends")
{
  MadeTrace early;
  early.rank = 1;
  early.host("cpu_op", "aten::linear", 1, -50, 1); // its recording begins 50 us before
  for (const Json& event : last_stage().events)
    early.events.push_back(event);
  const JoinedRanks joined = join_ranks({rank_of(first_stage()), rank_of(early)}, 2);
  REQUIRE(joined.clocks.size() == 2);
  CHECK(joined.clocks[0] == 0);
  CHECK(joined.clocks[1] == Approx(50 * kUs).epsilon(0.02)); // a microsecond apart as recorded
}

TEST_CASE("a rank alone keeps what it waited for sends as idle time, and says so")
{
  const RecordedRank alone = rank_of(first_stage());
  CHECK(alone.sends);
  CHECK(alone.alone.exchanges.empty());
  CHECK_THAT(alone.alone.notes.at(0), Catch::Contains("send kernels"));
  std::vector<std::string> notes;
  const auto measured = model_of(first_stage(), {alone}, &notes);
  CHECK(measured.exchanges.empty());
  CHECK_THAT(notes.back(), Catch::Contains("stays as idle time"));
}

TEST_CASE("sends that do not match are refused, and those to ranks without a recording left out")
{
  CHECK_THAT(refusal({rank_of(first_stage(200)), rank_of(last_stage())}),
             Catch::Contains("200 bytes from rank 0 to rank 1"));
  RecordedRank silent = rank_of(last_stage());
  silent.with_sends.exchanges.pop_back();
  CHECK_THAT(refusal({rank_of(first_stage()), silent}),
             Catch::Contains("holds 0 sends from rank 1 to rank 0"));
  RecordedRank other = rank_of(last_stage(2));
  other.rank = 1;
  const JoinedRanks joined = join_ranks({rank_of(first_stage(100, 2)), other}, 4);
  CHECK(joined.exchanges.empty());
  CHECK_THAT(joined.notes.back(), Catch::Contains("recording of rank 2"));
  other.rank = 3;
  CHECK_THAT(join_ranks({rank_of(first_stage()), other}, 4).notes.back(),
             Catch::Contains("recording of rank 1"));
}

TEST_CASE("ranks of one all-reduce have as much of it")
{
  const auto rank = [](int number, int bytes) {
    MadeTrace trace;
    trace.rank = number;
    trace.world = 2;
    for (int s = 0; s < 4; ++s) {
      const double t = 1000.0 * s;
      trace.host("user_annotation", "ProfilerStep#" + std::to_string(s), 1, t, 999);
      trace.kernel("volta_sgemm_128x64_nn", 1, t + 10, t + 20, 200);
      trace.kernel("ncclDevKernel_AllReduce_Sum_f32", 1, t + 13, t + 221, 100,
                   sum(bytes, "[0, 1]"));
    }
    return rank_of(trace);
  };
  CHECK(refusal({rank(0, 4000), rank(1, 4000)}).empty());
  CHECK_THAT(refusal({rank(0, 4000), rank(1, 20)}),
             Catch::Contains("has all-reduce of 20 bytes on 2 ranks as exchange 0") &&
                 Catch::Contains("all-reduce of 4000 bytes"));
}

TEST_CASE("one rank of each stage stands for its block")
{
  const auto measured =
      model_of(first_stage(100, 2), {rank_of(first_stage(100, 2)), rank_of(last_stage(2))});
  REQUIRE(measured.exchanges.size() == 2);
  const auto program = recorded_program(measured, {.name = "job", .ranks = 8});
  std::vector<std::pair<int, int>> pairs;
  for (const auto& op : program.operations)
    if (op.kind == sim::WorkKind::transfer && op.rank < op.peer)
      pairs.emplace_back(op.rank, op.peer);
  CHECK(pairs == std::vector<std::pair<int, int>>{{0, 2}, {1, 3}, {4, 6}, {5, 7}});
  CHECK_THAT(problem_with_ranks(measured, 6), Catch::Contains("multiple of 4 ranks"));
}

TEST_CASE("a kernel of several messages holds what its thread had asked for")
{
  MadeTrace trace = first_stage();
  const auto ask = [&](double at, const Json& args) {
    trace.host("cpu_op", "record_param_comms", 1, at, 1, args);
  };
  ask(4001, message("send", 30, 1));
  ask(4002, message("recv", 50, 1));
  trace.host("user_annotation", "nccl:coalesced", 1, 4004, 5);
  trace.kernel(kSendRecv, 1, 4005, 4020, 100, {{"stream", 20}});
  ask(4011, message("send", 70, 1));
  trace.kernel(kSendRecv, 1, 4015, 4120, 100, {{"stream", 20}});
  const Trace read = read_made(trace);
  std::vector<SeenMessage> seen = seen_messages(read, read.work[read.work.size() - 2]);
  REQUIRE(seen.size() == 2);
  CHECK((seen[0].sends && seen[0].bytes == 30 && seen[0].peer == 1));
  CHECK((!seen[1].sends && seen[1].bytes == 50 && seen[1].peer == 1));
  seen = seen_messages(read, read.work.back());
  REQUIRE(seen.size() == 1);
  CHECK(seen[0].bytes == 70);
}

TEST_CASE("older recordings name the other rank by its place in the group")
{
  MadeTrace trace;
  const Json args = {{"stream", 20}, {"In msg nelems", 10}, {"dtype", "Float"}};
  trace.host("user_annotation", "nccl:send 1->0", 1, 5, 20);
  trace.kernel(kSendRecv, 1, 10, 20, 100, args);
  Json told = args;
  told["Process Group Ranks"] = "[4, 6]";
  trace.host("user_annotation", "nccl:recv 0<-1", 1, 35, 20);
  trace.kernel(kSendRecv, 1, 40, 200, 100, told);
  const Trace read = read_made(trace);
  const auto sent = seen_messages(read, read.work[0]);
  REQUIRE(sent.size() == 1);
  CHECK((sent[0].sends && sent[0].peer == 0 && sent[0].bytes == 40));
  const auto received = seen_messages(read, read.work[1]);
  REQUIRE(received.size() == 1);
  CHECK((!received[0].sends && received[0].peer == 6));
}

TEST_CASE("a small send may end before its receiver comes, who alone waits")
{
  // Both send to each other before they receive: without a buffer neither would ever end.
  const auto stage = [](int number) {
    MadeTrace trace;
    trace.rank = number;
    for (int s = 0; s < 4; ++s) {
      const double t = 1000.0 * s;
      trace.host("user_annotation", "ProfilerStep#" + std::to_string(s), 1, t, 999);
      trace.kernel("volta_sgemm_128x64_nn", 1, t + 10, t + 20, 100);
      trace.kernel(kSendRecv, 1, t + 13, t + 120, 10, message("send", 10, 1 - number));
      trace.kernel("void elementwise_kernel", 1, t + 16, t + 131, 100);
      trace.kernel(kSendRecv, 1, t + 19, t + 231, 10, message("recv", 10, 1 - number));
      trace.kernel("void elementwise_kernel", 1, t + 22, t + 242, 100);
    }
    return trace;
  };
  // What both ranks do at one time sets their clocks right.
  const auto with_sum = [&](int number) {
    MadeTrace trace = stage(number);
    for (int s = 0; s < 4; ++s)
      for (int i = 0; i < 3; ++i)
        trace.kernel("ncclDevKernel_AllReduce_Sum_f32", 1, 1000.0 * s + 30 + i,
                     1000.0 * s + 350 + 10 * i, 8, sum(8, "[0, 1]"));
    return trace;
  };
  const auto measured = model_of(with_sum(0), {rank_of(with_sum(0)), rank_of(with_sum(1))});
  REQUIRE(measured.exchanges.size() == 5);
  CHECK(measured.exchanges[0].buffered);
  CHECK(measured.exchanges[1].buffered);
  // What has come already is received at once (10 us less), sums follow each other at once (4
  // less).
  CHECK(simulated(measured, 1) == Approx(986).epsilon(1e-6));
  auto strict = measured;
  strict.exchanges[0].buffered = strict.exchanges[1].buffered = false;
  CHECK(waits_in_circle(strict));
}

TEST_CASE("stages that run other collectives are matched by the ranks that take part")
{
  // Rank 0 and rank 1 send as above; each is in a group of its own stage besides.
  const auto summing = [](MadeTrace trace, const char* members, int sums) {
    for (int s = 0; s < 4; ++s)
      for (int i = 0; i < sums; ++i)
        trace.kernel("ncclDevKernel_AllReduce_Sum_f32", 1, 1000.0 * s + 30 + i,
                     1000.0 * s + 930 + 20 * i, 10, sum(10, members));
    return trace;
  };
  const MadeTrace first = summing(first_stage(100, 2), "[0, 1]", 1);
  const MadeTrace last = summing(last_stage(2), "[2, 3]", 2);
  const auto measured = model_of(first, {rank_of(first), rank_of(last)});
  REQUIRE(measured.exchanges.size() == 5);
  std::vector<std::vector<int>> lines;
  for (const MeasuredExchange& exchange : measured.exchanges)
    if (!exchange.sends())
      lines.push_back(exchange.lines);
  std::sort(lines.begin(), lines.end());
  CHECK(lines == std::vector<std::vector<int>>{{0}, {1}, {1}});
  const auto program = recorded_program(measured, {.name = "job", .ranks = 4});
  CHECK(std::count_if(program.operations.begin(), program.operations.end(),
                      [](const auto& op) { return op.kind == sim::WorkKind::collective; }) == 3);
  CHECK(simulated(measured, 1, 4) == Approx(1000).epsilon(1e-3));
}

TEST_CASE("a file of sends that no job can run is refused")
{
  const Trace trace = read_made(first_stage());
  const auto alone =
      recorded_model(trace, find_steps(trace), {.name = "made", .ranks_follow = true});
  const auto model = with_ranks(alone, {rank_of(first_stage()), rank_of(last_stage())});
  const auto problem = [&model](const std::string& pointer, const Json& value) {
    return refusal_of(model.json, pointer, value);
  };
  const std::string exchanges = "/measured/exchanges/";
  CHECK_THAT(problem(exchanges + "0/lines", {0, 2}), Catch::Contains("line 2 of 2"));
  CHECK_THAT(problem(exchanges + "0/lines", {0}), Catch::Contains("two: from, to"));
  CHECK_THAT(problem(exchanges + "0/behind", {1}), Catch::Contains("in a circle"));
  CHECK_THAT(problem(exchanges + "0/behind", {0}), Catch::Contains("no other one"));
  CHECK_THAT(problem(exchanges + "0/behind", {7}), Catch::Contains("no other one"));
  CHECK_THAT(problem("/measured/ranks", 3), Catch::Contains("equal distances"));
  Json other = {{"kind", "all-reduce"}, {"size", "1 B"}, {"buffered", true}};
  CHECK_THAT(problem(exchanges + "0", other), Catch::Contains("belongs to sends alone"));
  other = {{"kind", "all-reduce"}, {"size", "1 B"}, {"group", 65536}, {"stride", 65536}};
  CHECK_THAT(problem(exchanges + "0", other), Catch::Contains("more than 65536"));
}

} // namespace
} // namespace foretrain::test::recorded_sends_test
