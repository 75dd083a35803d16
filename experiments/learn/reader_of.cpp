#include "experiments/learn/reader_of.hpp"

#include "calibration/fio_log.hpp"
#include "calibration/iperf3_log.hpp"
#include "calibration/nccl_tests_log.hpp"
#include "calibration/nvbandwidth_log.hpp"
#include "calibration/p2p_log.hpp"
#include "calibration/perftest_log.hpp"
#include "models/graphs/execution_trace.hpp"
#include "models/traces/chakra.hpp"
#include "models/traces/kineto.hpp"
#include "platforms/import_topo.hpp"

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

bool is_recording(const std::string& head)
{
  return models::looks_like_kineto(head) || models::looks_like_chakra(head);
}

bool is_mlperf(const std::string& head)
{
  return head.find(":::MLLOG") != std::string::npos;
}

bool is_config(const std::string& head)
{
  return head.find("\"model_type\"") != std::string::npos;
}

bool is_measurement(const std::string& head)
{
  using namespace calibration;
  return is_nccl_tests(head) || is_p2p_test(head) || is_nvbandwidth(head) || is_fio(head) ||
         is_perftest(head) || is_iperf3(head);
}

bool is_topology(const std::string& head)
{
  return head.find("<system") != std::string::npos || platforms::has_topo_matrix(head);
}

struct LogReader {
  bool (*knows)(const std::string& head);
  const char* what;
  const char* command; // {} is the file
};

constexpr LogReader kReaders[] = {
    {&is_mlperf, "a result log of MLPerf", "mlperf-import {} --experiment NAME"},
    {&is_measurement, "a log of a measurement", "calibrate {} --platform NAME --out PROFILE.json"},
    {&models::looks_like_execution_trace, "an execution trace of PyTorch",
     "model import {} --out MODEL.json"},
    {&is_recording, "a recording of a profiler",
     "trace show {}, or foretrain model import {} --out MODEL.json"},
    {&is_config, "a transformer's configuration", "model import {} --out MODEL.json"},
    {&is_topology, "a node's topology", "platform import {} --out PLATFORM.json"},
};

} // namespace

std::string reader_of(const std::string& path, const std::string& head)
{
  for (const LogReader& reader : kReaders)
    if (reader.knows(head)) {
      std::string command = reader.command;
      for (auto at = command.find("{}"); at != std::string::npos; at = command.find("{}", at))
        command.replace(at, 2, path);
      return fmt::format("it is {}: foretrain {}", reader.what, command);
    }
  return "";
}

} // namespace foretrain::experiments
