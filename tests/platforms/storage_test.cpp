// What reading costs on disks and servers, in closed form.
#include "platforms/storage_system.hpp"

#include "tests/support/catch.hpp"

#include <algorithm>

namespace foretrain::storage_test {

using namespace foretrain::platforms;

namespace {

Value inline_value(const std::string& text)
{
  return Value(std::shared_ptr<const Document>(parse_document(text, "inline")));
}

// One node of generic-4gpu and storage of that description.
struct Reading {
  sim::Engine engine;
  PlatformSpec spec = load_platform(std::string("generic-4gpu"));
  Machine machine;
  StorageSystem system;

  explicit Reading(const std::string& storage, const std::string& host = "\"bare-metal\"")
      : machine(
            engine, spec,
            {load_host(resolve_preset(inline_value("{\"h\": " + host + "}").at("h"), kHostKind)),
             load_transport(resolve_preset(std::string("tcp"), kTransportKind))},
            1),
        system(engine, machine, load_storage(inline_value(storage)), inline_value("{}"))
  {
  }

  double weight(const ReadPattern& pattern, const std::string& resource) const
  {
    return weight(system.read(machine, 0, pattern).path, resource);
  }
  double weight_written(const std::string& resource) const
  {
    return weight(system.write(machine, 0), resource);
  }
  double weight(const sim::PathPtr& path, const std::string& resource) const
  {
    for (const sim::Use& use : path->uses)
      if (engine.name({use.resource}) == resource)
        return use.weight;
    return 0;
  }
};

const char* const kServer = R"({ "name": "server", "servers": {
  "rate": "1 GB/s", "link": "100 Gb/s", "memory": "64 GB" } })";

} // namespace

TEST_CASE("opening a local file reads its metadata first", "[storage][closed-form]")
{
  const Reading reading(
      R"({ "name": "disk", "latency": "1 ms", "metadata_reads": 0.5, "request": "1 MB" })");
  const Disk& disk = reading.spec.disks.front();
  ReadPattern pattern;
  pattern.file = Bytes(1e5);
  pattern.each_opened = true;
  const Seconds request = disk.latency + Seconds(1e-3);
  CHECK_THAT(reading.system.read(reading.machine, 0, pattern).wait_to_read.value(),
             test::is((pattern.file / disk.read + 1.5 * request).value()));
}

TEST_CASE("a file of a server waits for its metadata, a request for what serves it",
          "[storage][closed-form]")
{
  const auto cost = [](const std::string& metadata, const std::string& operation) {
    const Reading reading(R"({ "name": "server", "metadata_operations": 3, "servers": {
      "rate": "1 GB/s", "link": "100 Gb/s", "memory": "64 GB", "cpu_per_metadata": ")" +
                          metadata + R"(", "cpu_per_operation": ")" + operation + "\" } }");
    ReadPattern pattern;
    pattern.file = Bytes(1e5);
    pattern.each_opened = true;
    return reading.system.read(reading.machine, 0, pattern);
  };
  const ReadCost bare = cost("0 us", "0 us");
  CHECK_THAT((cost("5 ms", "0 us").wait_to_open - bare.wait_to_open).value(), test::is(3 * 5e-3));
  CHECK_THAT((cost("5 ms", "0 us").wait_to_read - bare.wait_to_read).value() + 1, test::is(1.0));
  CHECK_THAT((cost("0 us", "7 ms").wait_to_read - bare.wait_to_read).value(), test::is(7e-3));
  CHECK_THAT((cost("0 us", "7 ms").wait_to_open - bare.wait_to_open).value() + 1, test::is(1.0));
}

TEST_CASE("a lone reader of a long file never seeks, several do between their pieces",
          "[storage][closed-form]")
{
  const Reading reading(R"({ "name": "disk", "request": "1 MB" })");
  const Disk& disk = reading.spec.disks.front();
  REQUIRE(disk.read_operations.value() > 0);
  ReadPattern pattern;
  pattern.file = Bytes(1e9);
  for (const double streams : {1.0, 4.0}) {
    pattern.streams = pattern.all_streams = streams;
    const double seeks = (1 - 1 / streams) / 1e6; // per byte
    CHECK_THAT(reading.weight(pattern, "node0/nvme0"),
               test::is(1 / disk.read.value() + seeks / disk.read_operations.value()));
  }
}

TEST_CASE("a stream waits for the arm of a disk as often as that seeks", "[storage][closed-form]")
{
  ReadPattern pattern;
  pattern.file = Bytes(1e9);
  const auto seconds_of_request = [&](const Reading& reading, double streams) {
    pattern.streams = pattern.all_streams = streams;
    return streams * 1e6 / reading.system.read(reading.machine, 0, pattern).path->cap;
  };
  const Reading arm(R"({ "name": "disk", "disk": "hdd-sata", "request": "1 MB" })");
  CHECK_THAT(seconds_of_request(arm, 1), test::is(1e6 / 160e6));
  CHECK_THAT(seconds_of_request(arm, 4), test::is(1e6 / 160e6 + 0.75 * 13e-3));
  // A solid-state disk has no arm: nearly all of its latency is each request's.
  const Reading solid(R"({ "name": "disk", "disk": "ssd-sata-1.92tb", "request": "1 MB" })");
  CHECK_THAT(seconds_of_request(solid, 1), test::is(1e6 / 530e6 + 1e-4 - 1 / 95e3));
  CHECK_THAT(seconds_of_request(solid, 4) - seconds_of_request(solid, 1),
             Catch::Matchers::WithinRel(0.75 / 95e3, 1e-6));
  // A server reads runs of ten requests.
  const Reading runs(R"({ "name": "server", "request": "1 MB", "servers": { "disk": "nlsas-12tb",
    "disks": 8, "media_read": "10 MB", "memory": "64 GB", "link": "100 Gb/s" } })");
  CHECK_THAT(seconds_of_request(runs, 2) - seconds_of_request(runs, 1),
             Catch::Matchers::WithinRel(0.5 * 0.1 * 12e-3, 1e-6));
  // Each small file is one seek at least.
  pattern.each_opened = true;
  CHECK_THAT(seconds_of_request(arm, 1), test::is(1e6 / 160e6 + 13e-3));
}

TEST_CASE("a disk is shared by the bytes that are asked for at a time", "[storage][closed-form]")
{
  const Reading reading(R"({ "name": "disk", "request": "1 MB" })");
  ReadPattern pattern;
  pattern.file = Bytes(1e9);
  const auto priority = [&](double streams, double file) {
    pattern.streams = streams;
    pattern.file = Bytes(file);
    return reading.system.read(reading.machine, 0, pattern).priority;
  };
  const double one = priority(1, 1e9);
  CHECK_THAT(priority(20, 1e9), test::is(20 * one));
  CHECK_THAT(priority(4, 1e5), test::is(0.4 * one)); // whole files, smaller than a request
}

TEST_CASE("what servers hold in memory is not read from their media", "[storage][closed-form]")
{
  const Reading reading(kServer);
  ReadPattern pattern;
  pattern.file = Bytes(1e9);
  const Reading disks(R"({ "name": "server", "servers": { "disk": "nlsas-12tb", "disks": 8,
    "media_read": "1 GB", "memory": "64 GB", "link": "100 Gb/s" } })");
  for (const double hits : {0.0, 0.25, 1.0}) {
    pattern.server_hits = hits;
    CHECK_THAT(reading.weight(pattern, "storage/media"),
               Catch::Matchers::WithinAbs(1 - hits, 1e-12));
    CHECK_THAT(disks.weight(pattern, "storage/disks"),
               Catch::Matchers::WithinAbs((1 - hits) / 240e6, 1e-18));
  }
}

TEST_CASE("a storage system is in the nodes or behind servers", "[storage]")
{
  CHECK_THROWS_WITH(load_storage(inline_value(R"({ "name": "both", "disk": "nvme-1.6tb",
    "servers": { "rate": "1 GB/s", "link": "100 Gb/s" } })")),
                    Catch::Contains("both 'disk' (in every node) and 'servers'"));
  CHECK_THROWS_WITH(load_storage(inline_value(R"({ "extends": "nfs-ssd", "stripes": 4 })")),
                    Catch::Contains("/stripes is of disks in every node"));
  for (const char* key :
       {R"("connections": 4)", R"("gateway": "1 GB/s")", R"("transports": ["tcp"])"})
    CHECK_THROWS_WITH(load_storage(inline_value(
                          std::string(R"({ "name": "local", "disk": "nvme-1.6tb", )") + key + "}")),
                      Catch::Contains("this storage has no 'servers'"));
  for (const char* key : {R"("disks": 4)", R"("media_read": "1 MB")", R"("sockets": 2)"})
    CHECK_THROWS_WITH(load_storage(inline_value(fmt::format(
                          R"({{ "name": "f", "servers": {{ "count": 1, "rate": "1 GB/s", "link":
                          "100 Gb/s", {} }} }})",
                          key))),
                      Catch::Contains("leave it out, or name the"));
}

TEST_CASE("files go through the adapter of the storage's network, not the first one",
          "[storage][closed-form]")
{
  const PlatformSpec spec = load_platform(std::string("c4140-v100-sxm2"));
  sim::Engine engine;
  const Machine machine(engine, spec,
                        {load_host(resolve_preset(std::string("bare-metal"), kHostKind)),
                         load_transport(resolve_preset(std::string("rdma"), kTransportKind))},
                        1);
  const StorageSystem system(engine, machine, load_storage(inline_value(kServer)),
                             inline_value("{}")); // over TCP on Ethernet
  REQUIRE(spec.nics.size() > 1);
  const auto uses = [&](const sim::PathPtr& path, const std::string& resource) {
    return std::any_of(path->uses.begin(), path->uses.end(), [&](const sim::Use& use) {
      return engine.name({use.resource}) == resource;
    });
  };
  const sim::PathPtr read = system.read(machine, 0, {Bytes(1e9)}).path;
  const sim::PathPtr written = system.write(machine, 0);
  const std::string first = "node0/" + spec.node.nics[0].name;
  const std::string second = "node0/" + spec.node.nics[1].name;
  CHECK(uses(read, second + "/rx"));
  CHECK(uses(written, second + "/tx"));
  for (const sim::PathPtr& path : {read, written})
    for (const char* side : {"/rx", "/tx"})
      CHECK_FALSE(uses(path, first + side));
}

TEST_CASE("a thread writes as fast as it copies, a disk as fast as it writes",
          "[storage][closed-form]")
{
  const Reading local(R"({ "name": "disk" })");
  const Disk& disk = local.spec.disks.front();
  const double copied = local.spec.cpu.copy_rate.value();
  const sim::PathPtr path = local.system.write(local.machine, 0);
  CHECK_THAT(path->cap, test::is(copied));
  CHECK_THAT(local.weight_written("node0/" + local.spec.node.disks.front().name),
             test::is(1 / disk.write.value()));
  CHECK_THAT(local.weight_written("node0/cores"), test::is(1 / copied));
  CHECK_THAT(local.weight_written("node0/socket0/dram"), test::is(3)); // copied, and read
  const Reading layered(R"({ "name": "disk" })",
                        R"({ "extends": "bare-metal", "memory_copies": 2 })");
  CHECK_THAT(layered.weight_written("node0/socket0/dram"), test::is(3 + 2));
}

TEST_CASE("what is written goes in by its own side of ports, and at the media's own rate",
          "[storage][closed-form]")
{
  const Reading alike(kServer);
  CHECK_THAT(alike.weight_written("storage/media"), test::is(1));
  CHECK(alike.weight_written("storage/server-link") == 0);
  CHECK(alike.weight_written("storage/server-link-in") > 1); // with what frames it
  const std::string nic = alike.spec.node.nics.front().name;
  CHECK(alike.weight_written("node0/" + nic + "/tx") > 1);
  CHECK(alike.weight_written("node0/" + nic + "/rx") == 0);
  CHECK(alike.weight_written("node0/storage-connection") > 0);
  const Reading slower(R"({ "name": "server", "gateway": "1 GB/s", "servers": {
    "rate": "1 GB/s", "write_rate": "0.4 GB/s", "operations": "10 kIOPS", "link": "100 Gb/s" } })");
  CHECK_THAT(slower.weight_written("storage/media"), test::is(2.5));
  CHECK_THAT(slower.weight_written("storage/operations"), test::is(1 / 1048576.0));
  CHECK(slower.weight_written("storage/gateway") == 0);
  CHECK(slower.weight_written("storage/gateway-in") > 1);
  const Reading disks(R"({ "name": "server", "servers": { "disk": "nlsas-12tb", "disks": 8,
    "cpu": "xeon-gold-6148", "cpu_per_operation": "20 us", "link": "100 Gb/s" } })");
  CHECK_THAT(disks.weight_written("storage/disks"), test::is(1 / 240e6));
  CHECK(disks.weight_written("storage/server-cores") > 20e-6 / 1048576);
  CHECK_THROWS_WITH(Reading(R"({ "name": "server", "servers": { "disk": "nlsas-12tb", "disks": 8,
    "write_rate": "1 GB/s", "link": "100 Gb/s" } })"),
                    Catch::Contains("write_rate must be left out"));
}

TEST_CASE("what a guest reads from servers and writes to them passes its adapter's thread",
          "[storage][closed-form]")
{
  const Reading reading(kServer);
  const Stack stack{load_host(resolve_preset(std::string("vm"), kHostKind)),
                    load_transport(resolve_preset(std::string("tcp"), kTransportKind))};
  const auto threads = [&](const sim::PathPtr& path) {
    std::vector<sim::Use> found;
    for (const sim::Use& use : path->uses)
      if (reading.engine.resource({use.resource}).kind == sim::ResourceKind::layer_thread)
        found.push_back(use);
    return found;
  };
  ReadPattern pattern;
  pattern.file = Bytes(1e9);
  CHECK(threads(reading.system.read(reading.machine, 0, pattern).path).empty());
  const Machine first = reading.machine.tenant(stack, {});
  const Machine second = reading.machine.tenant(stack, {});
  const auto read = threads(reading.system.read(first, 0, pattern).path);
  const auto written = threads(reading.system.write(first, 0));
  REQUIRE(read.size() == 1);
  REQUIRE(written.size() == 1);
  CHECK(read[0].resource == written[0].resource);
  CHECK(read[0].resource != threads(reading.system.write(second, 0)).at(0).resource);
  const ByteWork work =
      network_work(make_stack(stack.host, stack.transport), reading.machine.framing());
  CHECK_THAT(read[0].weight, test::is(work.threads.at(0).seconds));
}

TEST_CASE("a request to a server has one of its two ends in a guest", "[storage][closed-form]")
{
  const Reading reading(kServer);
  const Stack stack{load_host(resolve_preset(std::string("vm"), kHostKind)),
                    load_transport(resolve_preset(std::string("tcp"), kTransportKind))};
  ReadPattern pattern;
  pattern.file = Bytes(1e5);
  pattern.each_opened = true;
  const Machine guest = reading.machine.tenant(stack, {});
  const Seconds longer = reading.system.read(guest, 0, pattern).wait_to_read -
                         reading.system.read(reading.machine, 0, pattern).wait_to_read;
  REQUIRE(stack.host.network_latency.value() > 0);
  const Seconds adapter = load_transport(stack.host.guest_network).layers.at(0).latency;
  REQUIRE(adapter.value() > 0);
  CHECK_THAT(longer.value(), test::is(2 * 0.5 * (stack.host.network_latency + adapter).value()));
}

TEST_CASE("a connection to the servers is a core's work: on quicker ones it carries more",
          "[storage][closed-form]")
{
  const auto system = [](double speed) {
    Storage storage = load_storage(inline_value(kServer));
    storage.core_speed = speed;
    return way_to_servers(storage, load_platform(std::string("generic-4gpu"))).transport;
  };
  const Transport own = system(1);
  const Transport quick = system(2);
  const Framing& framing = *own.ethernet;
  CHECK(byte_work(own, framing).sockets > 0);
  CHECK(byte_work(quick, *quick.ethernet).sockets ==
        Approx(byte_work(own, framing).sockets / 2).epsilon(1e-12));
  Transport layered = own;
  layered.layers.push_back({});
  layered.layers.back().cpu_per_packet = Seconds(4e-6);
  layered.within_node.push_back(own);
  const Transport both = on_faster_cores(layered, 2);
  CHECK(both.layers.back().cpu_per_packet.value() == 2e-6);
  CHECK(both.within_node.front().copy_rate.value() == 2 * own.copy_rate.value());
}

} // namespace foretrain::storage_test
