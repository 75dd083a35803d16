#include "platforms/stack.hpp"

#include "platforms/machine.hpp"
#include "sim/base/error.hpp"
#include "tests/support/catch.hpp"

namespace foretrain::transport_test {

using namespace foretrain::platforms;
using Catch::Matchers::Contains;

namespace {

Transport transport(const char* name)
{
  return load_transport(resolve_preset(std::string(name), kTransportKind));
}

Transport inline_transport(const char* text)
{
  return load_transport(Value(std::shared_ptr<const Document>(parse_document(text, "inline"))));
}

std::string error_of(const char* text)
{
  try {
    inline_transport(text);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

Host host(const char* name)
{
  return load_host(resolve_preset(std::string(name), kHostKind));
}

} // namespace

TEST_CASE("a layer adds to what carries it, and takes room in each packet", "[transports]")
{
  const Transport below = transport("host-network");
  const Transport tunnel = transport("flannel-vxlan");
  const Framing wire = *below.ethernet;
  const Framing inside = *tunnel.ethernet;
  CHECK(inside.mtu.value() == wire.mtu.value() - 50);
  CHECK(inside.mtu + inside.wire_headers == wire.mtu + wire.wire_headers); // same frames
  CHECK(tunnel.all_latency() > below.all_latency());
  // Packets by themselves cost more than segments, and 1.2 us each.
  Framing offloaded = inside;
  offloaded.sees_tunnels = true;
  const double singles = byte_work(tunnel, inside).all();
  CHECK(singles > byte_work(tunnel, offloaded).all());
  const double payload = (inside.mtu - inside.packet_headers).value();
  CHECK_THAT(singles, test::is(byte_work(below, inside).all() + 1.2e-6 / payload));
  // Every second packet is acknowledged, or every segment.
  const double frame = (inside.packet_headers + inside.wire_headers).value();
  CHECK_THAT(acknowledged(tunnel, inside), test::is(frame / (2 * payload)));
  CHECK_THAT(acknowledged(tunnel, offloaded), test::is(frame / 65536));
  CHECK(acknowledged(transport("rdma"), Framing{}) == 0);
}

TEST_CASE("a guest's packets pass its virtual adapter, one by one out of a tunnel", "[transports]")
{
  const Stack guest = make_stack(host("vm"), transport("tcp"));
  REQUIRE(guest.transport.layers.size() == 1);
  CHECK(guest.transport.layers.front().thread == LayerThread::adapter);
  CHECK(guest.assumed.size() == 1);
  const Framing framing = *guest.transport.ethernet;
  const ByteWork work = network_work(guest, framing);
  REQUIRE(work.threads.size() == 1);
  CHECK(work.threads.front().of_host);
  CHECK_THAT(work.all(), test::is(work.sockets + work.threads.front().seconds));

  const Stack pod = make_stack(host("container-on-vm"), transport("flannel-vxlan"));
  REQUIRE(pod.transport.layers.size() == 2);
  const Framing inside = *pod.transport.ethernet;
  // Nothing is aggregated for vhost.
  CHECK(network_work(pod, inside).threads.front().seconds > 10 * work.threads.front().seconds);
  CHECK(connection_cap(pod, inside, 1) < connection_cap(guest, framing, 1));
  CHECK_THAT(connection_cap(pod, inside, 3), test::is(3 * connection_cap(pod, inside, 1)));

  // Nor where the host's adapter looks inside tunnels: the guest's does not.
  Framing offloaded = inside;
  offloaded.sees_tunnels = true;
  CHECK_THAT(network_work(pod, offloaded).all(), test::is(network_work(pod, inside).all()));
  const Stack on_host = make_stack(host("container"), transport("flannel-vxlan"));
  CHECK(network_work(on_host, offloaded).all() < 0.5 * network_work(on_host, inside).all());

  // Not twice, and not where the adapter itself is in the guest.
  CHECK(make_stack(host("vm"), transport("virtio")).transport.layers.size() == 1);
  CHECK(make_stack(host("vm"), transport("ipoib")).transport.layers.empty());
  CHECK(make_stack(host("vm"), transport("rdma")).assumed.empty());
  CHECK(make_stack(host("vm-passthrough"), transport("tcp")).transport.layers.empty());
  CHECK(make_stack(host("bare-metal"), transport("tcp")).assumed.empty());
}

TEST_CASE("layers with threads of their own work side by side", "[transports][closed-form]")
{
  Transport tcp = transport("tcp");
  const auto layer = [](double copies) {
    return TransportLayer{"layer",    Bytes(0), Seconds(0),          Seconds(0),
                          Seconds(0), copies,   Aggregation::always, LayerThread::daemon};
  };
  tcp.layers = {layer(3), layer(5)};
  const ByteWork work = byte_work(tcp, *tcp.ethernet);
  REQUIRE(work.threads.size() == 2);
  CHECK_THAT(work.threads[0].seconds, test::is(3 / tcp.copy_rate.value()));
  CHECK_THAT(work.threads[1].seconds, test::is(5 / tcp.copy_rate.value()));
  CHECK(work.threads[1].layer == 1);
  CHECK_FALSE(work.threads[1].of_host);
}

TEST_CASE("a daemon handles packets and acknowledgements, in a guest at the guest's speed",
          "[transports][closed-form]")
{
  const Transport udp = transport("flannel-udp");
  const Framing inside = *udp.ethernet;
  const double payload = (inside.mtu - inside.packet_headers).value();
  const double own = 1.5 * 4.8e-6 / payload + 2 / udp.copy_rate.value();
  CHECK_THAT(byte_work(udp, inside).threads.at(0).seconds, test::is(own));
  const Stack pod = make_stack(host("container-on-vm"), udp);
  const ByteWork work = network_work(pod, *pod.transport.ethernet);
  REQUIRE(work.threads.size() == 2);
  CHECK_THAT(work.threads[0].seconds, test::is(pod.host.cpu_overhead * own));
  CHECK(pod.host.cpu_overhead > 1);
  // vhost gets its packets and their acknowledgements, and is the host's.
  CHECK_THAT(work.threads[1].seconds, test::is(1.5 * 4e-6 / payload + 1 / udp.copy_rate.value()));
  // Who else is served by them.
  CHECK(serves_one_guest(pod, work.threads[0]));
  CHECK(serves_one_guest(pod, work.threads[1]));
  const Stack container = make_stack(host("container"), udp);
  CHECK_FALSE(serves_one_guest(container, network_work(container, inside).threads.at(0)));
  Stack beneath = make_stack(host("vm"), transport("virtio"));
  beneath.transport.layers.push_back(udp.layers.front());
  const ByteWork below = network_work(beneath, *beneath.transport.ethernet);
  CHECK(serves_one_guest(beneath, below.threads.at(0)));
  CHECK_FALSE(serves_one_guest(beneath, below.threads.at(1)));
}

TEST_CASE("copies of a host layer are work of a connection's core", "[transports][closed-form]")
{
  const Transport tcp = transport("tcp");
  Host copying;
  copying.cpu_overhead = 1.5;
  copying.memory_copies = 2;
  const double bare = network_work({Host{}, tcp}, *tcp.ethernet).sockets;
  CHECK_THAT(network_work({copying, tcp}, *tcp.ethernet).sockets,
             test::is(1.5 * (bare + 2 / tcp.copy_rate.value())));
}

TEST_CASE("a network's own packet size holds for what runs on it", "[transports]")
{
  PlatformSpec spec = load_platform(std::string("dgx1-v100-2x100gbe"));
  const auto mtu_of = [&](const char* name) {
    return find_network(spec, transport(name)).framing.mtu.value();
  };
  CHECK(mtu_of("tcp") == 1500);
  CHECK(mtu_of("rdma") == 1024);
  for (NetworkSpec& network : spec.networks)
    network.mtu = Bytes(9000);
  CHECK(mtu_of("tcp") == 9000);
  CHECK(mtu_of("flannel-vxlan") == 8950);
  CHECK(mtu_of("rdma") == 4096);
  CHECK(find_network(spec, transport("flannel-vxlan")).framing.sees_tunnels);
}

TEST_CASE("what a layer tells of the whole stack holds, all else is as below", "[transports]")
{
  const std::string below = R"({"name": "below", "protocol": "tcp", "ethernet": {"mtu": "1500 B"},
      "infiniband": {"mtu": "2044 B"}, "segment": "9 kB", "copy_rate": "2 GB/s",
      "connections": 3, "latency": "5 us", "copies": 1})";
  const auto layer = [&](const std::string& more) {
    return inline_transport((R"({"name": "above", "latency": "2 us", "copies": 2,
        "encapsulation": "50 B", "over": )" +
                             below + more + "}")
                                .c_str());
  };
  const Transport plain = layer("");
  CHECK(plain.name == "above");
  CHECK(plain.ethernet->mtu == Bytes(1450));
  CHECK(plain.ethernet->wire_headers == Bytes(50));
  CHECK(plain.infiniband->mtu == Bytes(1994));
  CHECK(plain.infiniband->wire_headers == Bytes(50));
  CHECK(plain.segment == Bytes(9000));
  CHECK(plain.copy_rate == BytesPerSecond(2e9));
  CHECK(plain.connections == 3);
  CHECK(plain.all_copies() == 3);
  CHECK_THAT(plain.all_latency().value(), test::is(7e-6));
  CHECK_FALSE(plain.one_flow);
  CHECK(layer(R"(, "ethernet": {"mtu": "8900 B"})").ethernet->mtu == Bytes(8900));
  CHECK(layer(R"(, "infiniband": {"mtu": "4000 B"})").infiniband->mtu == Bytes(4000));
  CHECK(layer(R"(, "segment": "5 kB")").segment == Bytes(5000));
  CHECK(layer(R"(, "copy_rate": "7 GB/s")").copy_rate == BytesPerSecond(7e9));
  CHECK(layer(R"(, "connections": 4)").connections == 4);
  CHECK(layer(R"(, "one_flow": true)").one_flow);
  CHECK(layer(R"(, "passthrough": true)").passthrough);
}

TEST_CASE("what a stack of transports cannot be is said", "[transports]")
{
  CHECK_THAT(error_of(R"({ "name": "x", "over": "rdma" })"), Contains("not TCP"));
  CHECK_THAT(error_of(R"({ "name": "x", "over": "tcpp" })"), Contains("tcp"));
  CHECK_THAT(error_of(R"({ "name": "x", "protocol": "tcp", "encapsulation": "50 B",
                          "ethernet": { "mtu": "1500 B" } })"),
             Contains("'over'"));
  CHECK_THAT(error_of(R"({ "name": "x", "over": "tcp", "protocol": "tcp" })"),
             Contains("transport below"));
  CHECK_THAT(error_of(R"({ "name": "x", "over": "tcp", "encapsulation": "1450 B" })"),
             Contains("no room for payload"));
  CHECK_THAT(error_of(R"({ "name": "x", "ethernet": { "mtu": "1500 B" } })"),
             Contains("lacks 'protocol': rdma or tcp\n  hint: or 'over'"));
  for (const char* const key : {"encapsulation", "aggregation", "thread"}) {
    const std::string value = key == std::string("encapsulation") ? "50 B" : "adapter";
    CHECK_THAT(error_of((R"({ "name": "x", "protocol": "tcp", "ethernet": { "mtu": "1500 B" }, ")" +
                         std::string(key) + "\": \"" + value + "\"}")
                            .c_str()),
               Contains(std::string("/") + key + " is of a layer over another transport"));
  }
  CHECK_THAT(error_of(R"({ "name": "x", "over": "tcp", "gpudirect": true })"),
             Contains("/gpudirect is that of the transport below"));
  CHECK_THAT(error_of(R"({ "name": "x", "protocol": "tcp" })"),
             Contains("must have 'ethernet', 'infiniband' or both"));
  // As much header as packet leaves nothing, a byte less leaves one.
  const auto with_headers = [](const std::string& bytes) {
    return error_of((R"({ "name": "x", "protocol": "tcp", "infiniband": { "mtu": "100 B",
                         "packet_headers": ")" +
                     bytes + "\" }}")
                        .c_str());
  };
  CHECK_THAT(with_headers("100 B"),
             Contains("/infiniband has no room for payload: packet_headers is not less than mtu"));
  CHECK(with_headers("99 B") == "no error");
}

TEST_CASE("nine transports on each other are one too many", "[transports][errors]")
{
  const auto stacked = [](int layers) {
    std::string text = "\"tcp\"";
    for (int i = 0; i < layers; ++i)
      text = R"({ "name": "x", "over": )" + text + "}";
    return error_of(text.c_str());
  };
  CHECK(stacked(7) == "no error");
  CHECK_THAT(stacked(8), Contains("/over makes a stack of more than 8 transports"));
}

} // namespace foretrain::transport_test
