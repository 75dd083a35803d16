// What reading costs on disks and servers, in closed form.
#include "platforms/storage_system.hpp"

#include "tests/support/catch.hpp"

using namespace foretrain;
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

  explicit Reading(const std::string& storage)
      : machine(engine, spec,
                {load_host(resolve_preset(std::string("bare-metal"), kHostKind)),
                 load_transport(resolve_preset(std::string("tcp"), kTransportKind))},
                1),
        system(engine, machine, load_storage(inline_value(storage)), inline_value("{}"))
  {
  }

  double weight(const ReadPattern& pattern, const std::string& resource) const
  {
    const ReadCost cost = system.read(machine, 0, pattern);
    for (const sim::Use& use : cost.path->uses)
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

TEST_CASE("what servers hold in memory is not read from their media", "[storage][closed-form]")
{
  const Reading reading(kServer);
  ReadPattern pattern;
  pattern.file = Bytes(1e9);
  for (const double hits : {0.0, 0.25, 1.0}) {
    pattern.server_hits = hits;
    CHECK_THAT(reading.weight(pattern, "storage/media"),
               Catch::Matchers::WithinAbs(1 - hits, 1e-12));
  }
}
