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
  return machine.network_hop({0, 0}, {1, 0}, 0, 0).cap;
}

} // namespace

TEST_CASE("channels that take the same way have the threads of each", "[rings][closed-form]")
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

TEST_CASE("Threads of several channels of one adapter by version", "[rings][closed-form]")
{
  sim::Engine engine;
  const Machine plain(engine, with_adapters(200, 0), sockets(), 2);
  const auto raised = [&](int version) {
    sim::Hop hop;
    hop.cap = 1e9;
    SocketThreads(plain, {version}).raise(hop, 3, 6, 0, 0); // three of six that one rank sends
    return hop.cap;
  };
  CHECK_THAT(raised(2408), test::is(1e9)); // one ring of an adapter
  CHECK_THAT(raised(2604), test::is(3e9)); // a thread of each channel
  CHECK_THAT(raised(2700), test::is(0.5e9));
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
  const Machine plain(engine, with_adapters(200, 0), sockets(), 2);
  CHECK(SocketThreads(plain, {}).own(0) == 0);
  CHECK(SocketThreads(plain, {2408}).own(0) == 1);
  CHECK(SocketThreads(plain, {2700}).own(0) == 0);
}

} // namespace foretrain::socket_threads_test
