#include "platforms/storage_system.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace foretrain::platforms {

namespace {

// Seconds of one disk per byte, when that many reads per byte begin somewhere else.
double disk_seconds(const Disk& disk, double seeks_per_byte)
{
  const double seek = disk.read_operations.value() > 0 ? 1 / disk.read_operations.value() : 0;
  return 1 / disk.read.value() + seeks_per_byte * seek;
}

// Until the first byte of a request comes, of which so many are seeks: an arm's way is paid for
// those alone, the rest of the latency by each.
Seconds wait_of(const Disk& disk, double seeks)
{
  const Seconds seek = disk.read_operations.value() > 0
                           ? std::min(disk.latency, Seconds(1 / disk.read_operations.value()))
                           : Seconds(0);
  return disk.latency - seek + seeks * seek;
}

// Eight requests of 1 MiB have the priority of any other flow that they meet on the way: assumed.
constexpr double kUsuallyAsked = 8.0 * (1 << 20);

// A disk or a server takes requests in turn: who asks for more at a time, in more streams or larger
// pieces, gets more.
double priority_of(const ReadPattern& pattern, double piece)
{
  return std::max(1.0, pattern.streams) * piece / kUsuallyAsked;
}

double piece_of(const Storage& storage, const ReadPattern& pattern)
{
  return std::max(1.0, std::min(storage.request.value(), pattern.file.value()));
}

} // namespace

StorageWay way_to_servers(const Storage& storage, const PlatformSpec& spec)
{
  std::vector<Value> transports = storage.transports;
  if (transports.empty())
    transports.push_back(preset_reference("tcp", storage.origin));
  StorageWay way;
  for (std::size_t i = 0; i < transports.size() && way.network.index < 0; ++i) {
    way.transport = on_faster_cores(load_transport(transports[i]), storage.core_speed);
    way.network = find_network(spec, way.transport);
  }
  return way;
}

StorageSystem::StorageSystem(sim::Engine& engine, const Machine& machine, Storage storage,
                             const Value& at)
    : storage_(std::move(storage)), machine_(&machine)
{
  storage_.local() ? build_local(engine, at) : build_servers(engine, machine, at);
}

void StorageSystem::build_local(sim::Engine& engine, const Value& at)
{
  const PlatformSpec& spec = machine_->spec();
  if (storage_.disk)
    disk_ = storage_.disk_type;
  else if (!spec.disks.empty())
    disk_ = spec.disks.front();
  else
    at.fail("is '" + storage_.name + "', but the nodes of '" + spec.name + "' have no disks",
            "give the platform disks, or name a storage system with a disk of its own, like nvme");
  const std::string name =
      storage_.disk || spec.node.disks.empty() ? "disk" : spec.node.disks.front().name;
  for (int node = 0; node < machine_->nodes(); ++node) {
    const auto id = engine.add_resource({sim::ResourceKind::disk, node, name}, 1.0);
    if (node == 0)
      first_disk_ = id.value;
  }
}

void StorageSystem::build_servers(sim::Engine& engine, const Machine& machine, const Value& at)
{
  const StorageServers& servers = *storage_.servers;
  const PlatformSpec& spec = machine.spec();
  way_ = way_to_servers(storage_, spec);
  if (way_.network.index < 0)
    at.fail("is '" + storage_.name + "', which no network of '" + spec.name + "' leads to",
            "its transports need an adapter of the right kind in every node");
  const auto add = [&](sim::ResourceKind kind, const char* what, double capacity) {
    return engine.add_resource({kind, -1, what}, capacity).value;
  };
  using enum sim::ResourceKind;
  media_ = servers.disk
               ? add(storage_disks, "disks", static_cast<double>(servers.disks * servers.count))
               : add(storage_disks, "media", servers.rate.value());
  if (servers.operations.value() > 0)
    operations_ = add(storage_operations, "operations", servers.operations.value());
  if (storage_.server_cpu)
    cpu_ = add(storage_cores, "server-cores",
               static_cast<double>(storage_.server_cpu->cores) * servers.sockets * servers.count);
  const double links = servers.links * servers.count * servers.link.value();
  link_ = add(storage_link, "server-link", links);
  link_in_ = add(storage_link, "server-link-in", links);
  if (storage_.gateway.value() > 0) {
    gateway_ = add(storage_gateway, "gateway", storage_.gateway.value());
    gateway_in_ = add(storage_gateway, "gateway-in", storage_.gateway.value());
  }
  if (way_.transport.protocol == NetworkProtocol::tcp)
    for (int node = 0; node < machine.nodes(); ++node) {
      const auto id =
          engine.add_resource({mount, node, ""}, static_cast<double>(storage_.connections));
      if (node == 0)
        first_mount_ = id.value;
    }
}

Bytes StorageSystem::server_cache() const
{
  return storage_.local() ? Bytes(0)
                          : static_cast<double>(storage_.servers->count) * storage_.servers->memory;
}

// Reads of the media per byte that begin somewhere else: with one stream alone the next piece
// follows the last one.
double StorageSystem::seeks_per_byte(const ReadPattern& pattern) const
{
  const double file = std::max(1.0, pattern.file.value());
  if (pattern.each_opened)
    return 1 / piece_of(storage_, pattern) + storage_.metadata_reads / file;
  double run = piece_of(storage_, pattern);
  if (!storage_.local())
    run = std::min(file, std::max(run, storage_.servers->media_read.value()));
  return (1 - 1 / std::max(1.0, pattern.all_streams)) / run;
}

double StorageSystem::seeks_of_request(const ReadPattern& pattern) const
{
  return pattern.each_opened ? 1 : seeks_per_byte(pattern) * piece_of(storage_, pattern);
}

ReadCost StorageSystem::read(const Machine& machine, int node, const ReadPattern& pattern) const
{
  return storage_.local() ? read_local(machine, node, pattern)
                          : read_servers(machine, node, pattern);
}

sim::PathPtr StorageSystem::write(const Machine& machine, int node) const
{
  const double copy_rate = machine.spec().cpu.copy_rate.value();
  std::vector<sim::Use> uses;
  machine.add_core_work(uses, node, machine.stack().host.cpu_overhead / copy_rate);
  if (storage_.local())
    add_written_local(machine, node, uses);
  else
    add_written_servers(machine, node, uses);
  return sim::make_path(uses, {}, copy_rate);
}

void StorageSystem::add_written_local(const Machine& machine, int node,
                                      std::vector<sim::Use>& uses) const
{
  const Host& host = machine.stack().host;
  uses.push_back({first_disk_ + node, 1 / disk_.write.value()});
  uses.push_back({machine.dram(node, 0).value, 3.0 + host.memory_copies}); // copied, and read
  machine.add_core_work(
      uses, node, host.cpu_overhead * host.cpu_per_disk_request.value() / storage_.request.value());
}

void StorageSystem::add_written_servers(const Machine& machine, int node,
                                        std::vector<sim::Use>& uses) const
{
  const StorageServers& servers = *storage_.servers;
  const Stack stack = make_stack(machine.stack().host, way_.transport);
  const double wire = wire_expansion(way_.network.framing);
  const double bare =
      cpu_seconds_per_byte({.host = {}, .transport = way_.transport}, way_.network.framing);
  const double piece = storage_.request.value();
  const double media = servers.disk ? 1 / storage_.disk_type.write.value()
                       : servers.write_rate.value() > 0
                           ? servers.rate.value() / servers.write_rate.value()
                           : 1.0;
  uses.push_back({media_, media});
  if (operations_ >= 0)
    uses.push_back({operations_, 1 / piece});
  if (cpu_ >= 0)
    uses.push_back({cpu_, bare + servers.cpu_per_operation.value() / piece});
  uses.push_back({link_in_, wire});
  if (gateway_in_ >= 0)
    uses.push_back({gateway_in_, wire});
  const double passes =
      3 + (way_.transport.protocol == NetworkProtocol::tcp ? 2 * way_.transport.copies : 0);
  machine.add_sent(uses, node, way_.network.nics.front(), wire, passes);
  add_client_work(machine, node, stack, uses);
}

// What the client does for a byte on one of its connections, each of which one core serves. A
// guest's packets pass its virtual adapter's thread, too.
void StorageSystem::add_client_work(const Machine& machine, int node, const Stack& stack,
                                    std::vector<sim::Use>& uses) const
{
  const double core = network_work(stack, way_.network.framing).sockets;
  if (core <= 0)
    return;
  machine.add_network_work(uses, node, stack, way_.network.framing);
  uses.push_back({first_mount_ + node, core});
}

ReadCost StorageSystem::read_local(const Machine& machine, int node,
                                   const ReadPattern& pattern) const
{
  const Host& host = machine.stack().host;
  const double piece = piece_of(storage_, pattern);
  std::vector<sim::Use> uses;
  uses.push_back({first_disk_ + node, disk_seconds(disk_, seeks_per_byte(pattern))});
  uses.push_back({machine.dram(node, 0).value, 1.0 + host.memory_copies});
  machine.add_core_work(uses, node, host.cpu_overhead * host.cpu_per_disk_request.value() / piece);
  const Seconds request =
      wait_of(disk_, seeks_of_request(pattern)) + host.disk_latency + storage_.latency;
  ReadCost cost;
  cost.wait_to_read =
      Seconds(pattern.file.value() / disk_.read.value()) + (1 + storage_.metadata_reads) * request;
  cost.open_cpu = host.cpu_overhead * storage_.open_cpu;
  cost.path = sim::make_path(
      uses, {}, pattern.streams * piece / (request.value() + piece / disk_.read.value()));
  cost.cap_name = "parallel reads";
  cost.priority = priority_of(pattern, piece);
  return cost;
}

ReadCost StorageSystem::read_servers(const Machine& machine, int node,
                                     const ReadPattern& pattern) const
{
  const StorageServers& servers = *storage_.servers;
  const Stack stack = make_stack(machine.stack().host, way_.transport);
  const double wire = wire_expansion(way_.network.framing);
  const double bare =
      cpu_seconds_per_byte({.host = {}, .transport = way_.transport}, way_.network.framing);
  const double piece = piece_of(storage_, pattern);
  const double metadata =
      pattern.each_opened ? storage_.metadata_operations / std::max(1.0, pattern.file.value()) : 0;
  const double missed = 1 - pattern.server_hits;
  std::vector<sim::Use> uses;
  const double media =
      servers.disk ? disk_seconds(storage_.disk_type, seeks_per_byte(pattern)) : 1.0;
  uses.push_back({media_, missed * media});
  if (operations_ >= 0)
    uses.push_back({operations_, missed / piece + metadata});
  if (cpu_ >= 0)
    uses.push_back({cpu_, bare + servers.cpu_per_operation.value() / piece +
                              servers.cpu_per_metadata.value() * metadata});
  uses.push_back({link_, wire});
  if (gateway_ >= 0)
    uses.push_back({gateway_, wire});
  const int nic = way_.network.nics.front();
  const double passes =
      1 + (way_.transport.protocol == NetworkProtocol::tcp ? 2 * way_.transport.copies : 0);
  machine.add_received(uses, node, nic, wire, passes);
  add_client_work(machine, node, stack, uses);
  const Seconds disk = servers.disk ? storage_.disk_type.latency : Seconds(0);
  // There and back, one end on this host, with what its guest's virtual adapter adds.
  const Seconds trip =
      way_.transport.latency + stack.transport.all_latency() + stack.host.network_latency +
      machine.spec().nics[static_cast<std::size_t>(nic)].latency + storage_.latency;
  const Seconds request =
      trip + servers.cpu_per_operation +
      (servers.disk ? missed * wait_of(storage_.disk_type, seeks_of_request(pattern)) : Seconds(0));
  const double link = std::min(machine.spec().nics[static_cast<std::size_t>(nic)].rate.value(),
                               servers.link.value()) /
                      wire;
  ReadCost cost;
  cost.wait_to_open = storage_.metadata_operations * (trip + servers.cpu_per_metadata) +
                      missed * storage_.metadata_reads * disk;
  cost.wait_to_read = Seconds(pattern.file.value() / link) + request;
  cost.open_cpu = stack.host.cpu_overhead * storage_.open_cpu;
  cost.path = sim::make_path(uses, {}, pattern.streams * piece / (request.value() + piece / link));
  cost.cap_name = "parallel reads";
  cost.priority = priority_of(pattern, piece);
  return cost;
}

} // namespace foretrain::platforms
