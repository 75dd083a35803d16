#include "platforms/storage.hpp"

#include "platforms/stack.hpp"

namespace foretrain::platforms {

namespace {

Disk load_disk(const Value& reference)
{
  return read_as<Disk>(resolve_preset(reference, kDiskKind));
}

void check_servers(const Value& at, Storage& storage)
{
  StorageServers& servers = *storage.servers;
  const bool disks = static_cast<bool>(servers.disk);
  if (disks == (servers.rate.value() > 0))
    at.fail(disks ? "has both 'disk' and 'rate': name the disks or the rate of all media"
                  : "must have 'disk' and 'disks', or 'rate'");
  if (disks && servers.write_rate.value() > 0)
    at.at("write_rate").fail("must be left out beside 'disk', which says how fast it writes");
  if (!disks)
    for (const auto& [key, given] :
         {std::pair("disks", servers.disks > 0), {"media_read", servers.media_read.value() > 0}})
      if (given)
        at.fail_at(key, "is of disks, and 'rate' says what all media deliver",
                   "leave it out, or name the 'disk' instead of the rate");
  if (!servers.cpu && servers.sockets > 1)
    at.fail_at("sockets", "is of servers whose 'cpu' is told", "leave it out, or name the cpu");
  if (disks && servers.disks < 1)
    at.fail("has 'disk' but not 'disks', the number of disks that hold data");
  if (disks)
    storage.disk_type = load_disk(servers.disk);
  if (servers.cpu)
    storage.server_cpu = read_as<Cpu>(resolve_preset(servers.cpu, kCpuKind));
}

} // namespace

Storage load_storage(const Value& reference)
{
  const Value value = resolve_preset(reference, kStorageKind);
  auto storage = read_as<Storage>(value);
  storage.origin = value;
  if (storage.servers && storage.disk)
    value.fail("has both 'disk' (in every node) and 'servers'");
  if (storage.servers && storage.stripes > 1)
    value.fail_at("stripes", "is of disks in every node, and this storage has 'servers'",
                  "\"disks\" of \"servers\": those of one server that hold data");
  for (const auto& [key, given] : {std::pair("connections", storage.connections > 1),
                                   {"transports", !storage.transports.empty()},
                                   {"gateway", storage.gateway.value() > 0}})
    if (given && !storage.servers)
      value.fail_at(key, "is of a network to file servers, and this storage has no 'servers'");
  if (storage.servers)
    check_servers(value.at("servers"), storage);
  else if (storage.disk)
    storage.disk_type = striped(load_disk(storage.disk), storage.stripes);
  for (const Value& transport : storage.transports)
    load_transport(transport); // wrong names are found here
  return storage;
}

} // namespace foretrain::platforms
