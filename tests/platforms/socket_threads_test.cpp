#include "platforms/rings.hpp"
#include "platforms/socket_threads.hpp"

#include "tests/support/catch.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

namespace foretrain::socket_threads_test {

using namespace foretrain::platforms;

namespace {

// Google's machine with eight adapters of this rate and so many threads for each connection.
PlatformSpec with_adapters(double gbit, int threads)
{
  auto document =
      std::make_shared<Document>(*resolve_preset(std::string("a3-mega"), kPlatformKind).document());
  for (Json& network : document->root["networks"])
    network["fabric"] = {{"extends", network["fabric"]}, {"port_rate", "400 Gb/s"}};
  for (Json& nic : document->root["node"]["nics"])
    nic["type"] = {{"extends", "gcp-200g"},
                   {"rate", fmt::format("{} Gb/s", gbit)},
                   {"socket_threads", threads}};
  return load_platform(Value(std::shared_ptr<const Document>(document)));
}

Stack sockets()
{
  return {load_host(resolve_preset(std::string("bare-metal"), kHostKind)),
          load_transport(resolve_preset(std::string("tcp"), kTransportKind))};
}

// Bytes per second of a buffer that the caps of all rings' connections let through together.
double ring_cap(double gbit, int threads, int version = 21806)
{
  const PlatformSpec spec = with_adapters(gbit, threads);
  sim::Engine engine;
  const Machine machine(engine, spec, sockets(), 4);
  std::vector<GpuPlace> ranks;
  for (int r = 0; r < 32; ++r)
    ranks.push_back({r / 8, r % 8});
  GraphRules rules;
  rules.search.version = version;
  const auto comm = make_communicator(machine, ranks, "test", rules);
  double least = std::numeric_limits<double>::infinity();
  for (const sim::Channel& channel : comm.channels)
    for (const sim::Hop& hop : channel.hops)
      if (hop.cap > 0)
        least = std::min(least, hop.cap / channel.share);
  return least;
}

double one_connection()
{
  sim::Engine engine;
  const Machine machine(engine, with_adapters(200, 0), sockets(), 2);
  return machine.network_hop({{0, 0}, 0}, {{1, 0}, 0}).cap;
}

} // namespace

TEST_CASE("channels that take the same way have the threads of each", "[rings][closed-form][long]")
{
  const double one = one_connection();
  // 12 rings of one adapter each; from 340 Gb/s on 8 on four adapters, in pairs of the same way.
  CHECK_THAT(ring_cap(200, 4), test::is(12 * 4 * one));
  CHECK_THAT(ring_cap(340, 4), test::is(8 * 4 * one));
  CHECK_THAT(ring_cap(340, 2), test::is(8 * 2 * one));
}

TEST_CASE("without threads of its own a rank's thread moves the bytes of all its channels",
          "[rings][closed-form]")
{
  CHECK_THAT(ring_cap(340, 0), test::is(4 * one_connection())); // of four ranks that send
}

TEST_CASE("a rank's one thread moves both halves of a tree", "[rings][closed-form]")
{
  const auto tree_over_ring = [](int threads) {
    sim::Engine engine;
    const PlatformSpec spec = with_adapters(200, threads);
    const Machine machine(engine, spec, sockets(), 2);
    const auto comm = make_communicator(machine, {{0, 0}, {1, 0}}, "test", {});
    return comm.connect_tree(0, 1, 0).cap / comm.connect(0, 1, 0).cap;
  };
  CHECK_THAT(tree_over_ring(0), test::is(0.5));
  CHECK_THAT(tree_over_ring(4), test::is(1)); // each half is a channel with threads of its own
}

TEST_CASE("Threads of several channels of one adapter by version", "[rings][closed-form]")
{
  sim::Engine engine;
  const Machine plain(engine, with_adapters(200, 0), sockets(), 2);
  const auto raised = [&](int version) {
    sim::Hop hop = plain.network_hop({{0, 0}, 0}, {{1, 0}, 0});
    SocketThreads(plain, {version}).raise(hop, 3, 6, 0, 0); // three of six that one rank sends
    return hop.cap / one_connection();
  };
  CHECK_THAT(raised(2408), test::is(1)); // one ring of an adapter
  CHECK_THAT(raised(2604), test::is(3)); // a thread of each channel
  CHECK_THAT(raised(2700), test::is(0.5));
}

TEST_CASE("threads for sockets are those that the transport asks for, or the adapter's vendor has",
          "[rings]")
{
  sim::Engine engine;
  const Machine google(engine, with_adapters(200, 4), sockets(), 2);
  CHECK(SocketThreads(google, {}).own(0) == 4);
  CHECK(SocketThreads(google, {}).own(-1) == 0);
  Stack asked = sockets();
  asked.transport.connections = 8;
  const Machine more(engine, with_adapters(200, 4), asked, 2);
  CHECK(SocketThreads(more, {}).own(0) == 8);
  CHECK(SocketThreads(more, {}).connections(0) == 8);
  asked.transport.connections = 2; // fewer than the vendor's
  const Machine fewer(engine, with_adapters(200, 4), asked, 2);
  CHECK(SocketThreads(fewer, {}).own(0) == 2);
  asked.transport.connections = 1; // which is not the same as nothing
  const Machine one(engine, with_adapters(200, 4), asked, 2);
  CHECK(SocketThreads(one, {}).own(0) == 1);
  CHECK(SocketThreads(one, {}).connections(0) == 1);
  const Machine plain(engine, with_adapters(200, 0), sockets(), 2);
  CHECK(SocketThreads(plain, {}).own(0) == 0);
  CHECK(SocketThreads(plain, {2408}).own(0) == 1);
  CHECK(SocketThreads(plain, {2700}).own(0) == 0);
}

namespace {

// Two of Amazon's machines whose network caps flows, rate by rate of a channel's connections.
PlatformSpec of_amazon(const std::string& flow_rate)
{
  auto document = std::make_shared<Document>(
      *resolve_preset(std::string("g4dn-12xlarge"), kPlatformKind).document());
  Json fabric = {{"extends", "ethernet-100g"}};
  if (!flow_rate.empty())
    fabric["flow_rate"] = flow_rate;
  document->root["networks"][0]["fabric"] = fabric;
  return load_platform(Value(std::shared_ptr<const Document>(document)));
}

Stack over_network(const char* network)
{
  Stack stack = sockets();
  stack.transport = load_transport(resolve_preset(std::string(network), kTransportKind));
  return stack;
}

double channel_cap(const std::string& flow_rate, const char* network, int version = 21806)
{
  sim::Engine engine;
  const Machine machine(engine, of_amazon(flow_rate), over_network(network), 2);
  sim::Hop hop = machine.network_hop({{0, 0}, 0}, {{1, 0}, 0});
  SocketThreads(machine, {version}).raise(hop, 1, 1, 0, 0);
  return hop.cap;
}

} // namespace

TEST_CASE("A cloud's cap of a flow holds for each connection of a channel", "[rings][closed-form]")
{
  // On the wire: a packet of 1,500 bytes carries 1,448 and takes 1,538.
  const double flow = 0.1e9 / 8 * 1448 / 1538;
  CHECK_THAT(channel_cap("100 Mb/s", "tcp"), test::is(16 * flow)); // two threads with eight each
  CHECK_THAT(channel_cap("100 Mb/s", "calico"), test::is(flow * 1448 / 1448)); // whose is a veth?
  CHECK(channel_cap("", "tcp") > 2 * channel_cap("5 Gb/s", "calico"));
  CHECK_THAT(channel_cap("400 Gb/s", "tcp"), test::is(channel_cap("", "tcp"))); // cores bind
  CHECK_THAT(channel_cap("", "calico", 2604) / channel_cap("", "calico"), test::is(1));
}

TEST_CASE("Software without NCCL's sockets has one flow between two hosts", "[hops][closed-form]")
{
  sim::Engine engine;
  const Machine capped(engine, of_amazon("1 Gb/s"), over_network("tcp"), 2);
  CHECK_THAT(capped.host_hop(0, 1, 0).cap, test::is(1e9 / 8 * 1448 / 1538));
  CHECK_THAT(capped.network_hop({{0, 0}, 0}, {{1, 0}, 0}).cap, test::is(1e9 / 8 * 1448 / 1538));
  CHECK_THAT(capped.socket_cap(1, 3), test::is(3e9 / 8 * 1448 / 1538));
}

} // namespace foretrain::socket_threads_test
