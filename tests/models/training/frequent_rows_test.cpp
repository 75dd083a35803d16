#include "models/training/frequent_rows.hpp"

#include "tests/support/catch.hpp"

namespace foretrain::frequent_rows_test {

using namespace foretrain::models;

TEST_CASE("A table is on every GPU where each of its rows is looked up often enough",
          "[tables][closed-form]")
{
  // Four nodes: 0.75 * 4 * 4 / 3 = 4 times a step; 1000 samples look up 250 rows so often, and
  // with two lookups each 500.
  const std::vector<TableSize> tables{{250, 1}, {251, 1}, {500, 2}, {501, 2}};
  const FrequentTables kept = frequent_tables(tables, {0.75}, 1000, 4);
  CHECK(kept.tables == 2);
  CHECK(kept.rows == 750);
  // Two nodes: 0.75 * 2 * 2 / 1 = 3 times.
  CHECK(frequent_tables(tables, {0.75}, 1000, 2).tables == 4);
  CHECK(frequent_tables(tables, {0.75}, 500, 4).tables == 0);
}

TEST_CASE("On one node no rows are kept for being frequent", "[tables]")
{
  const std::vector<TableSize> tables{{1, 1}};
  CHECK(frequent_tables(tables, {0}, 1000, 1).tables == 0);
  CHECK(frequent_tables(tables, {0}, 1000, 2).tables == 1);
}

} // namespace foretrain::frequent_rows_test
