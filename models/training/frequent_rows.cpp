#include "models/training/frequent_rows.hpp"

namespace foretrain::models {

FrequentTables frequent_tables(std::span<const TableSize> tables, const FrequentRows& rules,
                               double samples, int nodes)
{
  FrequentTables kept;
  if (nodes < 2)
    return kept;
  const double least = rules.ratio * nodes * nodes / (nodes - 1);
  for (const TableSize& table : tables) {
    const auto rows = static_cast<double>(table.rows);
    if (static_cast<double>(table.lookups) * samples < least * rows)
      continue;
    kept.tables += 1;
    kept.rows += rows;
  }
  return kept;
}

} // namespace foretrain::models
