#include "realrun/tools/iperf3.hpp"

#include "sim/base/document.hpp"

namespace foretrain::realrun {

namespace {

Value member(const Value& object, const std::string& key)
{
  if (!object.json().is_object() || !object.json().contains(key))
    object.fail("is not a complete iperf3 result: '" + key + "' is missing");
  return object.at(key);
}

double number(const Value& object, const std::string& key)
{
  const Value value = member(object, key);
  if (!value.json().is_number())
    value.fail("must be a number, got " + value.shown());
  return value.json().get<double>();
}

} // namespace

Iperf3Result read_iperf3(const std::filesystem::path& path)
{
  const Value root(load_document(path));
  if (root.json().contains("error"))
    root.at("error").fail("iperf3 failed: " + root.at("error").shown());
  const Value end = member(root, "end");
  const Value received = member(end, "sum_received");
  const Value cpu = member(end, "cpu_utilization_percent");
  Iperf3Result result;
  result.seconds = number(received, "seconds");
  result.bytes = number(received, "bytes");
  result.bits_per_second = number(received, "bits_per_second");
  result.retransmits = number(member(end, "sum_sent"), "retransmits");
  const Value start = member(root, "start");
  // The name differs when --set-mss was given.
  result.mss = number(start, start.json().contains("tcp_mss") ? "tcp_mss" : "tcp_mss_default");
  result.client_cpu_fraction = number(cpu, "host_total") / 100.0;
  result.server_cpu_fraction = number(cpu, "remote_total") / 100.0;
  return result;
}

} // namespace foretrain::realrun
