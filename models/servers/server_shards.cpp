#include "models/servers/server_shards.hpp"

#include <algorithm>
#include <string>

namespace foretrain::models {

namespace {

std::vector<Shard> partitions(Bytes size, Bytes largest, int tensor, int servers)
{
  std::vector<Shard> parts;
  for (Bytes left = size; parts.empty() || left.value() > 0;) {
    const Bytes bytes = std::min(left, largest);
    const int p = static_cast<int>(parts.size());
    parts.push_back({bytes, servers > 0 ? server_of_partition(tensor, p, servers) : -1});
    left = left - bytes;
  }
  return parts;
}

} // namespace

int server_of_partition(int tensor, int partition, int servers)
{
  std::uint64_t hash = 5381;
  const std::uint64_t key =
      (static_cast<std::uint64_t>(tensor) << 16) + static_cast<std::uint64_t>(partition);
  for (const char digit : std::to_string(key))
    hash = 33 * hash + static_cast<std::uint64_t>(digit);
  return static_cast<int>(hash % static_cast<std::uint64_t>(servers));
}

ServerShards::ServerShards(const ServerRules& rules, int servers)
    : rule_(rules.shard), partition_(rules.partition), servers_(servers),
      load_(static_cast<std::size_t>(servers))
{
}

std::vector<Shard> ServerShards::of(Bytes size, int tensor)
{
  if (rule_ == ServerShard::bytes)
    return partitions(size, partition_, tensor, servers_);
  if (servers_ == 0)
    return {{size, -1}};
  if (rule_ == ServerShard::tensor) {
    const auto least = std::min_element(load_.begin(), load_.end());
    *least += size.value();
    return {{size, static_cast<int>(least - load_.begin())}};
  }
  if (size < partition_)
    return {{size, static_cast<int>(9973LL * tensor % servers_)}};
  std::vector<Shard> parts;
  for (int server = 0; server < servers_; ++server)
    parts.push_back({size / servers_, server});
  return parts;
}

} // namespace foretrain::models
