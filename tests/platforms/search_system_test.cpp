// What NCCL assumes of links (src/graph/topo.h: SM60_NVLINK_BW, SM70_NVLINK_BW, SM80_NVLINK_BW,
// SM90_NVLINK_BW, SM86_NVLINK_BW, SM100_NVLINK_BW, PCI_BW, INTEL_P2P_OVERHEAD; VOLTA_NVLINK_WIDTH
// until 2.7), and what its search takes of them.
#include "platforms/search_system.hpp"

#include "platforms/platform.hpp"
#include "tests/platforms/hop_support.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <numeric>

namespace foretrain::search_system_test {

using namespace foretrain::platforms;
using test::stack_of;

namespace {

// A whole node; `between`: with the adapters of its training network.
struct Searched {
  PlatformSpec spec;
  NodeGraph node;
  SearchSystem system;

  Searched(const char* platform, int version, bool between = false, const char* network = "rdma")
      : Searched(load_platform(platform), version, between, network)
  {
  }
  Searched(PlatformSpec platform, int version, bool between, const char* network)
      : spec(std::move(platform)), node(spec), system(made(between, version, network))
  {
    system.find_paths({version});
  }

private:
  SearchSystem made(bool between, int version, const char* network) const
  {
    std::vector<int> gpus(static_cast<std::size_t>(spec.gpus_per_node()));
    std::iota(gpus.begin(), gpus.end(), 0);
    const Stack stack = stack_of(network);
    return {spec,
            node,
            stack,
            gpus,
            between ? find_network(spec, stack.transport).nics : std::vector<int>{},
            {version}};
  }
};

} // namespace

TEST_CASE("links carry what the library assumes of their kind", "[graphs][closed-form]")
{
  struct Known {
    const char* platform;
    int version;
    double nvlink; // GB/s of one link
    double pcie;   // GB/s of a GPU's slot with 16 lanes
  };
  for (const auto& [platform, version, nvlink, pcie] :
       std::initializer_list<Known>{{"dgx1-p100", 2408, 18, 12},
                                    {"dgx1-p100", 21806, 18, 12},
                                    {"dgx1-v100", 2408, 21, 12},
                                    {"dgx1-v100", 2799, 21, 12},
                                    {"dgx1-v100", 2800, 20, 12},
                                    {"dgx-a100", 2799, 21, 12}, // PCIe 4 was not known
                                    {"dgx-a100", 21806, 20, 24},
                                    {"hgx-h100", 21806, 20.6, 48},
                                    {"hgx-b200", 22703, 40.1, 48}}) {
    CAPTURE(platform, version);
    const Searched it(platform, version);
    const int gpus = it.system.gpus();
    double most = 0;
    for (int a = 0; a < gpus; ++a) {
      CHECK(it.system.pcie_bandwidth_of(a) == pcie);
      for (int b = 0; b < gpus; ++b) {
        const auto& path = it.system.path(it.system.gpu(a), it.system.gpu(b));
        most = std::max(most, a == b ? 0 : path.bandwidth);
        if (a == b || path.reach != PathReach::nvlink)
          continue;
        const int bricks = it.node.nvswitch() ? it.spec.gpu.nvlink_bricks : it.node.bricks(a, b);
        CHECK(path.bandwidth == nvlink * bricks);
        CHECK(path.links.size() == (it.node.nvswitch() ? 2 : 1));
      }
    }
    CHECK(it.system.most_per_channel() == most);
    CHECK(it.system.most_in_all() ==
          std::max(pcie, nvlink * static_cast<double>(it.spec.gpu.nvlink_bricks)));
  }
}

TEST_CASE("the library takes an adapter for what its port says, not for what it attains",
          "[graphs][closed-form]")
{
  PlatformSpec spec = load_platform("c4140-k-v100-sxm2");
  const auto seen = [&](double gigabits) {
    for (Nic& nic : spec.nics)
      nic.rate = BytesPerSecond(gigabits * 1e9 / 8);
    const Searched it(spec, 21806, true, "rdma");
    return 8 * it.system.device(it.system.net(0)).net_bandwidth;
  };
  for (const auto& [rate, port] : {std::pair{100.0, 100.0},
                                   {94, 100},
                                   {105, 100},
                                   {54.3, 56},
                                   {9.4, 10},
                                   {0.95, 1},
                                   {190, 200},
                                   {400, 400}})
    CHECK_THAT(seen(rate), test::is(port));
  for (const double other : {16.0, 32.0, 81.0, 0.5, 1600.0}) // of clouds, of QDR, of Aries, cut
    CHECK_THAT(seen(other), test::is(other));
}

TEST_CASE("a path is as wide as its narrowest link and as far as its farthest one",
          "[graphs][property]")
{
  for (const char* platform : {"dgx1-v100", "c4140-c-v100-pcie", "hgx-h100", "dss8440"})
    for (const int version : {2408, 21806}) {
      CAPTURE(platform, version);
      const Searched it(platform, version, true);
      for (int g = 0; g < it.system.gpus(); ++g)
        for (int n = 0; n < it.system.nets(); ++n) {
          const auto& out = it.system.path(it.system.gpu(g), it.system.net(n));
          const auto& in = it.system.path(it.system.net(n), it.system.gpu(g));
          REQUIRE(out.exists());
          CHECK(in.exists());
          CHECK(out.bandwidth <= it.system.device(it.system.net(n)).net_bandwidth);
          CHECK(out.bandwidth <= std::max(it.system.pcie_bandwidth_of(g), 21.0 * 18));
          CHECK(out.links.size() >= 3); // slot, adapter, wire
        }
      for (int n = 0; n < it.system.nets(); ++n)
        if (const int owner = it.system.gpu_of_net(n); owner >= 0) { // its own come first
          const auto& nets = it.system.nets_of(owner, PathReach::local);
          CHECK(std::find(nets.begin(), nets.end(), n) != nets.end());
        }
    }
  const Searched each("hgx-h100", 21806, true); // an adapter below the switch of each GPU
  for (int g = 0; g < 8; ++g) {
    CHECK(each.system.gpu_of_net(g) == g);
    CHECK(each.system.nets_of(g, PathReach::local) == std::vector<int>{g});
    CHECK(each.system.nets_of(g, PathReach::pxn).size() == 8);
  }
  CHECK(each.system.nets_of(-1, PathReach::local).size() == 8);
}

TEST_CASE("what is taken of a path and given back leaves the system as it was",
          "[graphs][property]")
{
  for (const char* platform : {"dgx1-v100", "c4140-c-v100-pcie", "hgx-h100"}) {
    Searched it(platform, 21806, true);
    const std::string before = it.system.fingerprint();
    std::vector<int> ends;
    for (int g = 0; g < it.system.gpus(); ++g)
      ends.push_back(it.system.gpu(g));
    for (int n = 0; n < it.system.nets(); ++n)
      ends.push_back(it.system.net(n));
    for (const int from : ends)
      for (const int to : ends) {
        const auto path = it.system.path(from, to);
        const std::size_t links = path.links.size();
        if (from == to || !path.exists())
          continue;
        CAPTURE(platform, from, to);
        CHECK(it.system.take(path, from, 3, links) == links);
        CHECK(it.system.fingerprint() != before);
        CHECK(it.system.take(path, from, -3, links) == links);
        CHECK(it.system.fingerprint() == before);
        const std::size_t taken = it.system.take(path, from, path.bandwidth + 0.1, links);
        CHECK(taken < links);
        it.system.take(path, from, -path.bandwidth - 0.1, taken);
        CHECK(it.system.fingerprint() == before);
      }
  }
}

TEST_CASE("over Intel's bridge peer traffic takes more of PCIe than it carries",
          "[graphs][closed-form]")
{
  // Two GPUs below one socket: of 12 GB/s they have 12 x 5 / 6, until 2.7 12 x 9 / 12.
  for (const auto& [version, most] : {std::pair(21806, 10.0), std::pair(2799, 9.0)}) {
    Searched it("c4130-p100-pcie", version, true);
    SearchSystem& system = it.system;
    const auto peer = system.path(system.gpu(0), system.gpu(1));
    CHECK(peer.reach == PathReach::phb);
    REQUIRE(peer.links.size() == 2);
    CHECK(system.take(peer, system.gpu(0), most + 0.01, 2) == 0);
    CHECK(system.take(peer, system.gpu(0), most, 2) == 2);
    const auto far = system.path(system.gpu(0), system.gpu(2)); // over the link of the sockets
    CHECK(far.reach == PathReach::sys);
    CHECK(system.take(far, system.gpu(0), 0.01, far.links.size()) == 0);
  }
}

} // namespace foretrain::search_system_test
