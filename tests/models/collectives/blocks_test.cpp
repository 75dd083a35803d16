// How calls are divided among channels, blocks and threads, and what that takes, against closed
// forms.
#include "models/collectives/blocks.hpp"

#include "models/collectives/collective.hpp"
#include "models/collectives/tree.hpp"
#include "models/collectives/tuning.hpp"
#include "tests/support/catch.hpp"

#include <cmath>

namespace foretrain::blocks_test {

using namespace foretrain::models;

namespace {

using enum Operation;
using enum ProtocolKind;

// Ranks with links of 10 GB/s in a ring over NVLink, with 12 channels found, 24 in use.
struct Scene {
  sim::Engine engine;
  sim::Communicator comm;

  explicit Scene(int ranks, int nodes = 1)
  {
    comm.name = "scene";
    comm.ranks = ranks;
    comm.nodes = nodes;
    comm.compute_capability = 8;
    comm.ring_graph = {12, 20e9, 12e9, true, true, false};
    comm.tree_graph = comm.ring_graph;
    for (int r = 0; r < ranks; ++r) {
      engine.add_resource("out" + std::to_string(r), 10e9);
      comm.node_of.push_back(r * nodes / ranks);
    }
    comm.connect = [this](int from, int to, int) {
      sim::Hop hop;
      hop.from = from;
      hop.to = to;
      const auto node = [&](int r) { return comm.node_of[static_cast<std::size_t>(r)]; };
      hop.reach = node(from) == node(to) ? sim::Reach::nvlink : sim::Reach::network;
      hop.uses = {{from, 1.0}};
      return hop;
    };
    sim::Channel channel;
    for (int r = 0; r < ranks; ++r) {
      channel.ring.push_back(r);
      channel.hops.push_back(comm.connect(r, (r + 1) % ranks, 0));
    }
    comm.channels = {channel};
  }

  double time(const Library& library, Operation operation, double size,
              const char* algorithm = "auto") const
  {
    const Collective collective(engine, comm, library, operation, algorithm);
    return collective.choose(Bytes(size)).time.value();
  }
};

Library one_protocol(const char* name)
{
  Library library;
  library.name = "test";
  library.version = 22700;
  library.estimate = Estimate::nccl_2_5;
  Protocol protocol;
  protocol.name = name;
  protocol.ring_base = protocol.tree_base = Seconds(5e-6);
  library.protocols = {protocol};
  return library;
}

} // namespace

TEST_CASE("small calls use as many channels as NCCL gives them", "[blocks][closed-form]")
{
  sim::Communicator comm = Scene(4).comm;
  comm.ring_graph.channels = 24;
  const auto used = [&](int version, Operation operation, ProtocolKind protocol, double size) {
    return 24 * channels_share(version, comm, operation, protocol, size);
  };
  // From 2.22 on by traffic: 16 KiB each, 32 from 2.27 on; all-reduce moves twice its buffer, LL
  // four bytes for one.
  CHECK(used(22200, all_reduce, ll128, 32768) == Approx(4));
  CHECK(used(22700, all_reduce, ll128, 32768) == Approx(2));
  CHECK(used(22700, all_reduce, ll, 32768) == Approx(8));
  CHECK(used(22700, all_gather, ll, 32768) == Approx(4));
  CHECK(used(22700, all_gather, ll, 32769) == Approx(5));
  // Before, by threads of 8 bytes: 512 of LL for each of four ranks, 640 of LL128.
  CHECK(used(21806, all_reduce, ll, 2 * 512 * 8 * 4) == Approx(2));
  CHECK(used(21806, all_reduce, ll128, 3 * 640 * 8) == Approx(3));
  // At least one, at most all; Simple is limited by links.
  CHECK(used(22700, all_reduce, ll, 8) == Approx(1));
  CHECK(used(22700, all_reduce, ll, 1e9) == Approx(24));
  CHECK(used(22700, all_reduce, simple, 8) == Approx(24));
}

TEST_CASE("the threads of a ring's blocks go round as often as 8 bytes each need",
          "[blocks][closed-form]")
{
  const sim::Communicator comm = Scene(4).comm;
  const double round = 24 * 512 * 8 * 4; // channels, threads, bytes, ranks
  CHECK(round_of_ring(comm) == Approx(round));
  CHECK(rounds_of_ring(comm, 1) == 1);
  CHECK(rounds_of_ring(comm, round) == 1);
  CHECK(rounds_of_ring(comm, round + 1) == 2);
  CHECK(steps_of_blocks(comm, all_gather) == 4);
  CHECK(steps_of_blocks(comm, all_reduce) == 7);
  // Blocks have all threads from 8 bytes for each and each rank on, those of trees without ranks.
  CHECK(full_blocks(comm, Family::ring, 16384));
  CHECK_FALSE(full_blocks(comm, Family::ring, 16383));
  CHECK(full_blocks(comm, Family::tree, 4096));
  CHECK_FALSE(full_blocks(comm, Family::tree, 4095));
}

TEST_CASE("a ring of LL takes its steps once, and more rounds of its blocks",
          "[blocks][closed-form]")
{
  const Scene scene(4);
  Library library = one_protocol("LL");
  library.protocols.front().gpu_latencies = {{8, Seconds(8e-6), Seconds(1e-6), Seconds(0)}};
  GpuLatency& latency = library.protocols.front().gpu_latencies.front();
  latency.filled = Seconds(2e-6);
  latency.round = Seconds(1e-3);                     // far beyond what links need
  library.local_copies = {{8, BytesPerSecond(1e3)}}; // not beside the rounds
  const double round = 24 * 512 * 8 * 4;
  CHECK_THAT(scene.time(library, all_gather, 4096), test::is(11e-6));
  // Two doublings of ranks: three times 2 us once blocks are full.
  CHECK_THAT(scene.time(library, all_gather, 16384), test::is(17e-6));
  CHECK_THAT(scene.time(library, all_gather, round), test::is(17e-6));
  CHECK_THAT(scene.time(library, all_gather, 1.5 * round), test::is(17e-6 + 4e-3));
  CHECK_THAT(scene.time(library, all_reduce, 3 * round, "ring"), test::is(20e-6 + 2 * 7e-3));
}

TEST_CASE("blocks that move a ring's data slower than links limit rings alone",
          "[blocks][closed-form]")
{
  const double size = 64e6; // of which a ring's ranks send three quarters, twice to add up
  for (const int nodes : {1, 2}) {
    CAPTURE(nodes);
    const Scene scene(4, nodes);
    Library library = one_protocol("LL128");
    library.protocols.front().gpu_latencies = {{8, Seconds(8e-6), Seconds(0), Seconds(0)}};
    const double links = scene.time(library, all_gather, size) - 8e-6;
    CHECK_THAT(links, test::is(0.75 * size / 10e9)); // each hop's resource carries 10 GB/s
    BytesPerSecond& limit = library.protocols.front().gpu_latencies.front().ring_limit;
    limit = BytesPerSecond(40e9); // more than the links
    CHECK_THAT(scene.time(library, all_gather, size), test::is(8e-6 + links));
    const double tree = scene.time(library, all_reduce, size, "tree");
    const double sent = scene.time(library, all_to_all, size);
    limit = BytesPerSecond(2e9);
    CHECK_THAT(scene.time(library, all_gather, size), test::is(8e-6 + 0.75 * size / 2e9));
    CHECK_THAT(scene.time(library, reduce_scatter, size), test::is(8e-6 + 0.75 * size / 2e9));
    CHECK_THAT(scene.time(library, all_reduce, size, "ring"), test::is(8e-6 + 1.5 * size / 2e9));
    CHECK_THAT(scene.time(library, all_reduce, size, "tree"), test::is(tree));
    CHECK_THAT(scene.time(library, all_to_all, size), test::is(sent));
    // The protocol's own limit holds where it is the lower one.
    library.protocols.front().bus_limits = {
        {0, BytesPerSecond(1e9), BytesPerSecond(1e9), BytesPerSecond(1e9)}};
    CHECK_THAT(scene.time(library, all_gather, size), test::is(8e-6 + 0.75 * size / 1e9));
  }
}

TEST_CASE("sends are cut into parts for channels by version", "[blocks][closed-form]")
{
  sim::Communicator comm = Scene(4).comm; // 32 channels for sends, 8 for each of 4 ranks
  const auto kib = [](double n) { return n * 1024; };
  CHECK(send_channels(22902, comm, simple, kib(32)) == 1);
  CHECK(send_channels(22902, comm, simple, kib(65)) == 2); // parts of 64 KiB at least
  CHECK(send_channels(22902, comm, simple, kib(1024)) == 8);
  CHECK(send_channels(22902, comm, simple, kib(8 * 16384 + 1)) == 16); // and 16 MiB at most
  // From 2.22 to 2.28 parts of LL are 8 KiB at least, and LL goes up to 16 KiB for each channel.
  CHECK(send_channels(22700, comm, ll, kib(64)) == 8);
  CHECK(send_channels(22902, comm, ll, kib(16)) == 1);
  CHECK(send_by_ll(22700, comm, kib(512)));
  CHECK_FALSE(send_by_ll(22700, comm, kib(512) + 1));
  CHECK(send_by_ll(22902, comm, kib(16)));
  CHECK_FALSE(send_by_ll(22902, comm, kib(16) + 1));
  CHECK_FALSE(send_by_ll(21806, comm, kib(17)));
  // Half of the threads send: 320 of 8 bytes.
  CHECK(rounds_of_send(22902, comm, 2560) == 1);
  CHECK(rounds_of_send(22902, comm, 2561) == 2);
  CHECK(rounds_of_send(22700, comm, kib(512)) == 26); // 64 KiB on each of eight
  comm.ring_graph.nvlink = false; // two channels to a rank over PCIe, parts of 16 KiB
  CHECK(send_channels(22902, comm, simple, kib(1024)) == 2);
  CHECK(send_by_ll(22700, comm, kib(32)));
  CHECK(send_by_ll(22902, comm, kib(32)));
  CHECK_FALSE(send_by_ll(22902, comm, kib(32) + 1));
  CHECK_FALSE(send_by_ll(21806, comm, kib(32)));
  comm.nodes = 2; // no buffers of LL between nodes
  CHECK_FALSE(send_by_ll(22902, comm, 8));
  CHECK(send_by_ll(21200, comm, 8));
}

TEST_CASE("a send by LL takes rounds of its threads, one by Simple its last copy",
          "[blocks][closed-form]")
{
  const Scene scene(2);
  Library library = one_protocol("LL");
  library.version = 22902;
  library.protocols.front().gpu_latencies = {{8, Seconds(8e-6), Seconds(1e-6), Seconds(0)}};
  library.protocols.front().gpu_latencies.front().round = Seconds(1e-3);
  library.protocols.push_back(library.protocols.front());
  library.protocols.back().name = "Simple";
  library.protocols.back().gpu_latencies.front().send = Seconds(20e-6);
  // 16 KiB in one part: 7 rounds, of which the first is in the latency.
  CHECK_THAT(scene.time(library, send_receive, 16384), test::is(9e-6 + 6e-3));
  CHECK_THAT(scene.time(library, send_receive, 65536),
             test::is(20e-6 + 65536 / 10e9 + 65536 / 24e9));
}

TEST_CASE("messages between nodes carry what a channel has for the next rank",
          "[blocks][closed-form]")
{
  sim::Communicator comm = Scene(8, 2).comm;
  comm.ring_graph.channels = 4; // each twice
  comm.tree_graph.channels = 2;
  const auto message = [&](int version, Operation operation, Family family, double size) {
    return message_bytes(version, comm, operation, family, size);
  };
  // 32 KiB a channel (64 bytes for each of 512 threads), until all eight or four are in use.
  CHECK_THAT(message(21806, all_reduce, Family::tree, 16384), test::is(16384));
  CHECK_THAT(message(21806, all_reduce, Family::tree, 65536), test::is(32768));
  CHECK_THAT(message(21806, all_reduce, Family::tree, 1 << 20), test::is(65536)); // four chunks
  CHECK_THAT(message(21806, all_reduce, Family::ring, 16384), test::is(16384.0 / 8));
  CHECK_THAT(message(21806, all_reduce, Family::ring, 1 << 20), test::is((1 << 20) / 8 / 8));
  CHECK_THAT(message(21806, broadcast, Family::ring, 1 << 20), test::is((1 << 20) / 8));
  // Later by traffic, of which an all-reduce has two bytes for one.
  CHECK_THAT(message(22200, all_reduce, Family::tree, 16384), test::is(8192));
  CHECK_THAT(message(22700, all_gather, Family::ring, 65536), test::is(65536.0 / 2 / 8));
  // Between pairs what one has for the other.
  CHECK_THAT(message(21806, all_to_all, Family::ring, 1 << 20), test::is((1 << 20) / 8));
  CHECK_THAT(message(21806, send_receive, Family::ring, 1 << 20), test::is(1 << 20));
}

TEST_CASE("a send ends with the copy of its last chunk", "[blocks][closed-form]")
{
  sim::Communicator comm = Scene(4).comm;
  // Eight channels to each of four ranks; at most 512 KiB over NVLink, 128 KiB to another node.
  CHECK_THAT(last_chunk(22700, comm, send_receive, 16 * 65536), test::is(2 * 65536));
  CHECK_THAT(last_chunk(22700, comm, all_to_all, 4 * 16 * 65536), test::is(2 * 65536));
  CHECK_THAT(last_chunk(22700, comm, send_receive, 32768), test::is(32768));
  CHECK_THAT(last_chunk(22700, comm, send_receive, 1e9), test::is(524288));
  comm.nodes = 2;
  CHECK_THAT(last_chunk(22700, comm, send_receive, 1e9), test::is(131072));
  // What a channel carries, by generation and version.
  CHECK_THAT(channel_rate(22700, comm), test::is(24e9));
  comm.compute_capability = 10;
  CHECK_THAT(channel_rate(22700, comm), test::is(77.4e9));
  CHECK_THAT(channel_rate(22902, comm), test::is(70e9));
}

TEST_CASE("a tree's chunks are smaller the fewer of them a channel has", "[blocks][closed-form]")
{
  const sim::Communicator comm = Scene(16, 2).comm; // 24 channels, trees of 8 levels
  CHECK(tree_channels(comm) == 24);
  const auto cut = [&](double each) { return tree_chunks(21806, comm, 24 * each); };
  const double kib = 1024;
  // Eight chunks of more than 128 KiB for each level, four of more than 64, one of more than 32.
  CHECK(cut(64 * 512 * kib).bytes == 512 * kib);
  CHECK(cut(64 * 512 * kib - 1).bytes == 256 * kib);
  CHECK(cut(64 * 256 * kib - 1).bytes == 128 * kib);
  CHECK(cut(32 * 128 * kib).bytes == 128 * kib);
  CHECK(cut(32 * 128 * kib - 1).bytes == 64 * kib);
  CHECK(cut(8 * 64 * kib).bytes == 64 * kib);
  CHECK(cut(8 * 64 * kib - 1).bytes == 32 * kib);
  CHECK(cut(32 * kib).count == 1);
  CHECK(cut(33 * kib).count == 2);
  CHECK(cut(1000 * 512 * kib).count == 1000);
  CHECK_THAT(tree_chunks(21806, comm, 4096).bytes, test::is(4096)); // on one channel
  CHECK(tree_chunks(21806, Scene(8).comm, 24 * 56 * 512 * kib).bytes == 512 * kib); // 7 levels
}

TEST_CASE("chunks of a tree in Simple follow the first one at the pace of the slowest stage",
          "[blocks][closed-form]")
{
  Scene scene(4, 2); // two nodes of two: up two steps, down two steps
  Library library = one_protocol("Simple");
  library.version = 22700;
  const double size = 24 * 100 * 524288.0; // 100 chunks on each of 24 channels
  const double chunk = 524288;
  const auto latency = [&](double step) {
    library.protocols.front().tree_hop = {Seconds(step), Seconds(step), Seconds(0)};
    const Collective tree(scene.engine, scene.comm, library, all_reduce, "tree");
    const Collective::Choice choice = tree.choose(Bytes(size));
    const double links = chunk / (choice.rate.value() / 24);
    return std::pair{choice.latency.value(), links};
  };
  // A block's table rate holds what two of them carry both ways, with a step for each chunk.
  const double whole = 4 * chunk / 24e9;
  CHECK_THAT(tree_copy(22700, scene.comm, Seconds(4e-6), chunk).value(), test::is(whole - 4e-6));
  CHECK_THAT(tree_copy(22700, scene.comm, Seconds(4e-6), chunk / 4).value(),
             test::is((whole - 4e-6) / 4));
  // Links are the slowest: two steps inside a node, two between them, one of which is their pace.
  const auto [slow_links, links] = latency(0);
  CHECK(links > whole);
  CHECK_THAT(slow_links, test::is(5e-6 + 2 * whole + links));
  // Adapters at which all 24 channels of a node meet, with one message each way for each chunk.
  scene.comm.connect = [connect = scene.comm.connect](int from, int to, int c) {
    sim::Hop hop = connect(from, to, c);
    if (hop.reach == sim::Reach::network)
      hop.handling = Seconds(1e-3);
    return hop;
  };
  const auto [slow_adapters, same] = latency(0);
  CHECK_THAT(same, test::is(links));
  CHECK_THAT(slow_adapters, test::is(slow_links + 99 * (24e-3 - links)));
  // Half of the trees begin at the other GPU of each node.
  scene.comm.trees = {{{{0, 1}, {2, 3}}, 0, 0.5}, {{{1, 0}, {3, 2}}, 0, 0.5}};
  scene.comm.connect_tree = scene.comm.connect;
  const auto [two_heads, half] = latency(0);
  CHECK_THAT(two_heads, test::is(5e-6 + 2 * whole + half + 99 * (12e-3 - half)));
}

TEST_CASE("trees meet the adapters where their chains begin", "[blocks]")
{
  Scene scene(3);
  scene.comm.trees = {{{{0, 1, 2}}, 0, 0.4}, {{{1, 2, 0}}, 0, 0.3}, {{{0, 2, 1}}, 0, 0.3}};
  scene.comm.connect_tree = scene.comm.connect;
  Pattern pattern;
  tree_all_reduce(scene.comm, pattern);
  CHECK(pattern.heads == 2);
}

TEST_CASE("blocks of a tree are a stage of its pipeline, too", "[blocks][closed-form]")
{
  const Scene scene(4); // a chain: three steps up, three down
  Library library = one_protocol("Simple");
  library.version = 22700;
  library.protocols.front().tree_hop = {Seconds(1e-3), Seconds(1e-3), Seconds(0)};
  const double size = 24 * 5 * 65536.0; // five chunks for a tree of three levels
  const Collective tree(scene.engine, scene.comm, library, all_reduce, "tree");
  const Collective::Choice choice = tree.choose(Bytes(size));
  // Steps of 1 ms are longer than what whole chunks take: nothing is left for copies.
  const double links = 65536 / (choice.rate.value() / 24);
  CHECK_THAT(choice.latency.value(), test::is(5e-6 + 6e-3 + 4 * (1e-3 - links)));
}

TEST_CASE("a switch that adds works in rounds of chunks that grow with the buffer",
          "[blocks][closed-form]")
{
  sim::Communicator comm = Scene(8).comm;
  comm.compute_capability = 9; // 16 channels for each of 8 ranks
  const auto round = [&](double mib) { return round_of_switch(comm, mib * (1 << 20)); };
  CHECK(round(1) == Approx(1 << 20));
  CHECK(round(4) == Approx(128 * (16 << 10)));
  CHECK(round(8) == Approx(128 * (32 << 10)));
  CHECK(round(64) == Approx(128 * (64 << 10)));
  CHECK(round(1023) == Approx(128 * (64 << 10)));
  CHECK(round(1024) == Approx(128 * (128 << 10)));
  comm.compute_capability = 10; // 24 channels
  CHECK(round(1024) == Approx(192 * (64 << 10)));
  comm.nodes = 2; // 32 channels for each of four ranks of a node, and trees between nodes
  CHECK(round(63) == Approx(128 * (64 << 10)));
  CHECK(round(64) == Approx(128 * (128 << 10)));
  comm.nodes = 4;
  CHECK(round(1024) == Approx(64 * (64 << 10)));
}

TEST_CASE("a switch's pipeline has two more stages, and flags for each further round",
          "[blocks][closed-form]")
{
  Scene scene(4);
  scene.comm.in_network_reduction = true;
  scene.comm.compute_capability = 9;
  scene.comm.switch_graph = {4, 20e9, 12e9, true, true, false};
  Library library = one_protocol("Simple");
  library.protocols.front().in_switch_base = Seconds(20e-6);
  library.protocols.front().gpu_latencies = {{9, Seconds(8e-6), Seconds(1e-6), Seconds(0)}};
  library.protocols.front().gpu_latencies.front().round = Seconds(1e-3);
  const double size = 256 << 20;
  const double round = 64 * (64 << 10);
  const Collective it(scene.engine, scene.comm, library, all_reduce, "in-switch");
  const Collective::Choice choice = it.choose(Bytes(size));
  CHECK_THAT(choice.latency.value(),
             test::is(20e-6 + 2 * round / choice.rate.value() + (size / round - 1) * 1e-3));
}

} // namespace foretrain::blocks_test
