// What boards and plug-ins do that files do not say: switches that add, adapters that are joined,
// tunnels that adapters see into.
#include "platforms/import.hpp"
#include "platforms/machine.hpp"
#include "platforms/transport.hpp"
#include "tests/support/catch.hpp"

namespace foretrain::import_board_test {

using namespace foretrain::platforms;

namespace {

PlatformSpec with_adapters(int beside_each, const std::string& type)
{
  Json nics = Json::array();
  Json names = Json::array();
  for (int gpu = 0; gpu < 8; ++gpu)
    for (int i = 0; i < beside_each; ++i) {
      names.push_back(fmt::format("efa{}", gpu * beside_each + i));
      nics.push_back({{"name", names.back()}, {"type", type}, {"on", fmt::format("pex{}", gpu)}});
    }
  const Json json = {{"format", "foretrain.platform/1"},
                     {"extends", "hgx-h100"},
                     {"node", {{"nics", nics}}},
                     {"networks", {{{"nics", names}, {"fabric", "ethernet-400g"}}}}};
  return load_platform(Value(DocumentPtr(parse_document(json.dump(), "test"))));
}

} // namespace

TEST_CASE("Adapters that the plug-in joins count as one beside each GPU", "[platforms]")
{
  const PlatformSpec four = with_adapters(4, "efa-100g");
  const PlatformSpec preset = load_platform(std::string("p5"));
  REQUIRE(four.nics.size() == 8);
  REQUIRE(four.node.nics.size() == 8);
  CHECK(four.networks[0].nics.size() == 8);
  for (std::size_t i = 0; i < 8; ++i) {
    CHECK(four.nics[i].rate == preset.nics[i].rate);
    CHECK(four.node.nics[i].name == four.networks[0].nics[i]);
  }
  CHECK(four.nics[0].pcie_lanes == 4 * with_adapters(1, "efa-100g").nics[0].pcie_lanes);
  // InfiniBand adapters of one switch stay two.
  CHECK(with_adapters(2, "connectx6-hdr").nics.size() == 16);
}

TEST_CASE("Adapters of 100 Gb/s and more see into VXLAN", "[platforms]")
{
  const auto vxlan = load_transport(resolve_preset(std::string("flannel-vxlan"), kTransportKind));
  for (const char* platform : {"hgx-h100-100gbe", "hgx-h100-400gbe"})
    CHECK(find_network(load_platform(std::string(platform)), vxlan).framing.sees_tunnels);
}

} // namespace foretrain::import_board_test
