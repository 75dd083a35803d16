// Chakra traces made here: a node behind its length, as the feeder writes them.
#include "models/traces/chakra.hpp"
#include "models/traces/recorded_ranks.hpp"
#include "sim/base/error.hpp"

#include "tests/models/traces/kineto_support.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/fuzzing.hpp"
#include "tests/support/packed.hpp"
#include "tests/support/problem.hpp"
#include "tests/support/wire_writer.hpp"

namespace foretrain::test::chakra_test {
namespace {

using namespace models;

constexpr int kComp = 4, kColl = 7;

std::string with_length(const std::string& message)
{
  return varint(message.size()) + message;
}

std::string chakra_attribute(const char* name, int field, std::uint64_t value)
{
  return bytes_field(10, bytes_field(1, name) + number_field(field, value));
}

std::string chakra_node(int id, const char* name, int type, const std::vector<int>& after,
                        int microseconds, const std::string& attributes = "")
{
  std::string message = number_field(1, static_cast<std::uint64_t>(id)) + bytes_field(2, name) +
                        number_field(3, static_cast<std::uint64_t>(type));
  for (const int before : after)
    message += number_field(5, static_cast<std::uint64_t>(before));
  return with_length(message + number_field(7, static_cast<std::uint64_t>(microseconds)) +
                     chakra_attribute("is_cpu_op", 27, 0) + attributes);
}

// A product of 1000 us, an all-gather of 500 beside a kernel of 200, a product that needs both.
std::string made_chakra()
{
  return with_length(bytes_field(1, "0.0.4")) + chakra_node(1, "sgemm_fwd", kComp, {}, 1000) +
         chakra_node(2, "allgather", kColl, {1}, 500,
                     chakra_attribute("comm_type", 9, 2) +
                         chakra_attribute("comm_size", 9, 100000000)) +
         chakra_node(3, "elementwise", kComp, {1}, 200) +
         chakra_node(4, "sgemm_bwd", kComp, {2, 3}, 2000);
}

Trace read_made_chakra(const std::string& bytes, int ranks = 4)
{
  const TemporaryFile file(bytes, ".et");
  return read_chakra(file.path(), ranks);
}

std::string chakra_problem(const std::string& bytes)
{
  return problem_of([&] { read_made_chakra(bytes); });
}

TEST_CASE("a Chakra trace is laid out by its dependencies")
{
  const Trace trace = read_made_chakra(made_chakra());
  REQUIRE(trace.work.size() == 4);
  const Steps steps = find_steps(trace);
  CHECK(steps.list[0].period() == Approx(3500e-6).epsilon(1e-6));
  const RecordedRank rank = recorded_rank(trace, steps);
  REQUIRE(rank.alone.exchanges.size() == 1);
  CHECK(rank.alone.exchanges[0].kind == "all-gather");
  CHECK(rank.alone.exchanges[0].bytes == 100e6);
  CHECK(rank.alone.exchanges[0].group == 4);
  const auto& pieces = rank.alone.line.pieces;
  REQUIRE(pieces.size() == 3);
  CHECK(pieces[0].starts == std::vector<int>{0});
  CHECK(pieces[2].after == std::vector<int>{0});
  CHECK(pieces[2].work.product.value() == Approx(2000e-6).epsilon(1e-6));
}

TEST_CASE("what a Chakra trace does not tell is one clear line")
{
  CHECK_THAT(chakra_problem(with_length(bytes_field(1, "0.0.4"))),
             Catch::Contains("without nodes"));
  CHECK_THAT(
      chakra_problem(with_length(bytes_field(1, "0.0.4")) + chakra_node(1, "a", kComp, {}, 0)),
      Catch::Contains("tells no duration"));
  const std::string whole = made_chakra();
  const Trace cut = read_made_chakra(whole.substr(0, whole.size() - 5));
  REQUIRE(!cut.notes.empty());
  CHECK_THAT(cut.notes[0], Catch::Contains("cut off behind node 3"));
  const Trace circle = read_made_chakra(whole + chakra_node(5, "a", kComp, {6}, 1) +
                                        chakra_node(6, "b", kComp, {5}, 1));
  CHECK_THAT(circle.notes[0], Catch::Contains("2 nodes wait for each other"));
  CHECK(looks_like_chakra(whole));
  CHECK(!looks_like_chakra("{\"schema\": \"1.1.0\"}"));
}

TEST_CASE("packed Chakra traces, also twice, read like plain ones")
{
  const std::string whole = made_chakra();
  const std::string once = packed(whole);
  for (const std::string& bytes : {once, packed(once)})
    CHECK(read_made_chakra(bytes).work.size() == 4);
  const Trace cut = read_made_chakra(once.substr(0, once.size() - 20));
  CHECK(cut.work.size() < 4);
  CHECK_THAT(cut.notes.at(0), Catch::Contains("cut off"));
  const Trace unchecked = read_made_chakra(once.substr(0, once.size() - 4)); // of its checksum
  CHECK(unchecked.work.size() == 4);
  CHECK_THAT(unchecked.notes.at(0), Catch::Contains("cut off behind node 4"));
}

TEST_CASE("a Chakra trace that contradicts itself is refused, or says what it leaves open")
{
  const std::string whole = made_chakra();
  CHECK_THAT(chakra_problem(whole + chakra_node(3, "again", kComp, {}, 9)),
             Catch::Contains("two nodes of the id 3"));
  CHECK_THAT(chakra_problem(whole + chakra_node(5, "a", kColl, {}, 1,
                                                chakra_attribute("comm_size", 9, 1ull << 62))),
             Catch::Contains("node 5 exchanges more than 1 PB"));
  std::string late = number_field(1, 7) + number_field(3, kComp) + number_field(7, 1ull << 62);
  CHECK_THAT(chakra_problem(whole + with_length(late)),
             Catch::Contains("node 7 takes longer than 11 days"));
  const std::string begin = with_length(bytes_field(1, "0.0.4"));
  CHECK_THAT(chakra_problem(begin + chakra_node(5, "a", kComp, {6}, 1) +
                            chakra_node(6, "b", kComp, {5}, 1)),
             Catch::Contains("2 nodes wait for each other in a circle"));
  CHECK_THAT(chakra_problem(begin + chakra_node(5, "a", kComp, {5}, 1)),
             Catch::Contains("1 nodes wait"));
  const Trace open = read_made_chakra(whole + chakra_node(5, "a", kComp, {99, 98}, 1) +
                                      chakra_node(6, "b", kComp, {}, 0));
  CHECK(open.work.size() == 5);
  CHECK_THAT(open.notes.at(0), Catch::Contains("2 dependencies are on nodes"));
  CHECK_THAT(open.notes.at(1), Catch::Contains("1 nodes that compute tell no duration"));
}

TEST_CASE("damaged Chakra traces never end in anything but a ConfigError", "[fuzz]")
{
  const std::string whole = made_chakra();
  Damage damage;
  const int runs = fuzz_runs(3000);
  int read_anyway = 0;
  for (int i = 0; i < runs; ++i)
    try {
      const Trace trace = read_made_chakra(damage.to(whole));
      recorded_rank(trace, find_steps(trace));
      ++read_anyway;
    } catch (const ConfigError&) {
    }
  CHECK(read_anyway > 0);
  CHECK(read_anyway < runs);
}

} // namespace
} // namespace foretrain::test::chakra_test
