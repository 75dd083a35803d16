#include "models/training/table_plan.hpp"

#include "tests/support/catch.hpp"

namespace foretrain::table_plan_test {

using namespace foretrain::models;

namespace {

constexpr Bytes kRow{10};
constexpr Bytes kMuch{1e12};

} // namespace

TEST_CASE("a table is cut while the fullest place gets less to do", "[tables][closed-form]")
{
  // 8 lookups on four places: whole 8 + 1, halves 4 + 1, quarters 2 + 1.
  const std::vector<TableSize> tables{{100, 8}};
  const TableShare share = share_of_tables(tables, kRow, 4, 1, kMuch, Bytes(0));
  CHECK(share.lookups == 2);
  CHECK(share.shards == 1);
  CHECK(share.mean_shards == 1);
  CHECK(share.own_lookups == 0);
}

TEST_CASE("a shard that costs more than it spares is not made", "[tables][closed-form]")
{
  // Two tables on two places, 6 and 2 lookups: one each costs 6 + 5; the larger one cut 3 + 2 and
  // two shards 15; both everywhere 4 + 10.
  const std::vector<TableSize> tables{{100, 6}, {100, 2}};
  const TableShare dear = share_of_tables(tables, kRow, 2, 5, kMuch, Bytes(0));
  CHECK(dear.lookups == 6);
  CHECK(dear.shards == 1);
  CHECK(dear.mean_shards == 1);
  // Shards for nothing: halves of both, 4 lookups each.
  const TableShare cheap = share_of_tables(tables, kRow, 2, 0, kMuch, Bytes(0));
  CHECK(cheap.lookups == 4);
  CHECK(cheap.shards == 2);
}

TEST_CASE("small tables lie on every GPU and are in no share", "[tables]")
{
  const std::vector<TableSize> tables{{100, 6}, {9, 2}, {10, 3}};
  const TableShare share = share_of_tables(tables, kRow, 2, 100, kMuch, Bytes(100));
  CHECK(share.own_lookups == 2);
  CHECK(share.own_tables == 1);
  CHECK(share.own_rows == 9);
  CHECK(share.lookups == 6); // 10 rows of 10 bytes are not below 100
  CHECK(share.mean_shards == 1);
  const TableShare none = share_of_tables(tables, kRow, 2, 1, kMuch, Bytes(1e6));
  CHECK(none.lookups == 0);
  CHECK(none.shards == 0);
  CHECK(none.own_lookups == 11);
}

TEST_CASE("a table larger than a place is cut until its shards fit", "[tables]")
{
  const std::vector<TableSize> tables{{100, 1}, {10, 1}, {10, 1}};
  const TableShare share = share_of_tables(tables, kRow, 4, 100, Bytes(350), Bytes(0));
  CHECK(share.mean_shards == 2); // four of the large one, two of each small one
  CHECK(share.lookups == 0.75);  // half of a small one beside a quarter
  CHECK(share.shards == 2);
}

// DLRM-DCNv2 by the planner itself (samples/dlrm/sharding): MLPerf v3.0 without tables on every
// GPU, v3.1 with.
TEST_CASE("places of DLRM-DCNv2 are as full as HugeCTR's planner makes them", "[tables]")
{
  const std::int64_t rows[] = {40000000, 39060,  17295,    7424,    20265,  3,        7122,
                               1543,     63,     40000000, 3067956, 405282, 10,       2209,
                               11938,    155,    4,        976,     14,     40000000, 40000000,
                               40000000, 590152, 12973,    108,     36};
  const std::int64_t lookups[] = {3, 2, 1, 2, 6, 1, 1,  1,   1,  7,  3, 8, 1,
                                  6, 9, 5, 1, 1, 1, 12, 100, 27, 10, 3, 1, 1};
  std::vector<TableSize> tables;
  for (std::size_t i = 0; i < std::size(rows); ++i)
    tables.push_back({rows[i], lookups[i]});
  const Bytes row(128 * 8);
  struct Case {
    int places;
    double cost;
    Bytes memory, small;
    double lookups, mean_shards;
  };
  const Case cases[] = {{8, 3350.0 / 450 / 4, Bytes(60e9), Bytes(0), 29, 29.0 / 8},
                        {8, 1.75, Bytes(60e9), Bytes(8e6), 26, 21.0 / 8},
                        {8, 16.75, Bytes(480e9), Bytes(0), 51, 27.0 / 8},
                        {16, 16.75, Bytes(480e9), Bytes(0), 27, 29.0 / 16},
                        {8, 16.75, Bytes(480e9), Bytes(12.5e6), 28, 15.0 / 8},
                        {16, 16.75, Bytes(480e9), Bytes(12.5e6), 25, 1}};
  for (const Case& c : cases) {
    CAPTURE(c.places, c.cost, c.small.value());
    const TableShare share = share_of_tables(tables, row, c.places, c.cost, c.memory, c.small);
    CHECK_THAT(share.lookups, test::is(c.lookups));
    CHECK_THAT(share.mean_shards, test::is(c.mean_shards));
  }
}

} // namespace foretrain::table_plan_test
