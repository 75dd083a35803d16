#include "models/training/table_plan.hpp"

#include <algorithm>
#include <numeric>
#include <optional>

namespace foretrain::models {

namespace {

constexpr int kRounds = 20; // planner.py: max_search_iter

// A table that places divide, cut into equal shards.
struct Cut {
  double lookups; // of the whole table
  Bytes size;
  int shards = 1;

  double hot() const { return lookups / shards; }
  Bytes part() const { return size / shards; }
};

struct TablePlace {
  std::vector<std::size_t> tables; // one shard each
  double lookups = 0;
  Bytes held;
};

class Planner {
public:
  Planner(std::vector<Cut> tables, int places, double shard_cost, Bytes memory)
      : tables_(std::move(tables)), places_(places), shard_cost_(shard_cost), memory_(memory)
  {
  }

  std::vector<TablePlace> plan()
  {
    std::vector<TablePlace> best = evenly();
    double least = cost(best);
    for (int round = 0; round < kRounds; ++round) {
      std::optional<std::size_t> too_large;
      std::vector<TablePlace> found = greedily(too_large);
      if (too_large) {
        if (!cut(*too_large))
          break;
        continue;
      }
      if (cost(found) < least) {
        least = cost(found);
        best = std::move(found);
      }
      cut_hottest();
    }
    return best;
  }

private:
  // Every table on every place: what takes least memory.
  std::vector<TablePlace> evenly() const
  {
    TablePlace each;
    for (std::size_t t = 0; t < tables_.size(); ++t) {
      each.tables.push_back(t);
      each.lookups += tables_[t].lookups / places_;
    }
    return std::vector<TablePlace>(static_cast<std::size_t>(places_), each);
  }

  double cost(const TablePlace& place) const
  {
    return place.lookups + shard_cost_ * static_cast<double>(place.tables.size());
  }
  double cost(const std::vector<TablePlace>& places) const
  {
    double most = 0;
    for (const TablePlace& place : places)
      most = std::max(most, cost(place));
    return most;
  }

  // Tables, that of the hottest shards first; of equal ones the last (numpy's argsort, reversed).
  std::vector<std::size_t> by_heat() const
  {
    std::vector<std::size_t> order(tables_.size());
    std::iota(order.rbegin(), order.rend(), 0);
    std::stable_sort(order.begin(), order.end(), [this](std::size_t a, std::size_t b) {
      return tables_[a].hot() > tables_[b].hot();
    });
    return order;
  }

  // A place has one shard of a table at most.
  TablePlace* cheapest_for(std::vector<TablePlace>& places, std::size_t table) const
  {
    TablePlace* found = nullptr;
    for (TablePlace& place : places) {
      const bool has =
          std::find(place.tables.begin(), place.tables.end(), table) != place.tables.end();
      if (has || place.held + tables_[table].part() > memory_)
        continue;
      if (found == nullptr || cost(place) < cost(*found))
        found = &place;
    }
    return found;
  }

  std::vector<TablePlace> greedily(std::optional<std::size_t>& too_large) const
  {
    std::vector<TablePlace> places(static_cast<std::size_t>(places_));
    for (const std::size_t table : by_heat())
      for (int shard = 0; shard < tables_[table].shards; ++shard) {
        TablePlace* place = cheapest_for(places, table);
        if (place == nullptr) {
          too_large = table;
          return places;
        }
        place->tables.push_back(table);
        place->lookups += tables_[table].hot();
        place->held += tables_[table].part();
      }
    return places;
  }

  bool cut(std::size_t table)
  {
    if (2 * tables_[table].shards > places_)
      return false;
    tables_[table].shards *= 2;
    return true;
  }

  void cut_hottest()
  {
    for (const std::size_t table : by_heat())
      if (cut(table))
        return;
  }

  std::vector<Cut> tables_;
  int places_;
  double shard_cost_;
  Bytes memory_;
};

} // namespace

TableShare share_of_tables(std::span<const TableSize> tables, Bytes row, int places,
                           double shard_cost, Bytes memory, Bytes replicated_below)
{
  TableShare share;
  std::vector<Cut> divided;
  for (const TableSize& table : tables) {
    const Bytes size = static_cast<double>(table.rows) * row;
    if (size < replicated_below) {
      share.own_lookups += static_cast<double>(table.lookups);
      share.own_tables += 1;
      share.own_rows += static_cast<double>(table.rows);
      memory = memory - size;
    } else {
      divided.push_back({static_cast<double>(table.lookups), size});
    }
  }
  if (divided.empty())
    return share;
  for (const TablePlace& place : Planner(std::move(divided), places, shard_cost, memory).plan()) {
    const auto shards = static_cast<double>(place.tables.size());
    share.mean_shards += shards / places;
    if (place.lookups > share.lookups) {
      share.lookups = place.lookups;
      share.shards = shards;
    }
  }
  return share;
}

} // namespace foretrain::models
