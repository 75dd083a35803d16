#include "realrun/common/machine.hpp"

#include "realrun/common/build_info.hpp"

#include <sched.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

extern char** environ;

namespace foretrain::realrun {

namespace {

namespace fs = std::filesystem;

std::string first_line(const fs::path& path)
{
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// The value of the first "key : value" line of a /proc file or "KEY=value" line of os-release.
std::string entry(const fs::path& path, const std::string& key, char separator)
{
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(key)) {
      const std::size_t at = line.find(separator);
      if (at == std::string::npos)
        continue;
      std::string value = line.substr(at + 1);
      value.erase(std::remove(value.begin(), value.end(), '"'), value.end());
      const std::size_t begin = value.find_first_not_of(" \t");
      return begin == std::string::npos ? "" : value.substr(begin);
    }
  return "unknown";
}

int number_or(const std::string& text, int otherwise)
{
  char* end = nullptr;
  const long value = std::strtol(text.c_str(), &end, 10);
  return end == text.c_str() ? otherwise : static_cast<int>(value);
}

Json interfaces()
{
  Json list = Json::array();
  std::set<fs::path> found;
  std::error_code error;
  for (const auto& item : fs::directory_iterator("/sys/class/net", error))
    found.insert(item.path());
  for (const auto& path : found) {
    const fs::path driver = fs::read_symlink(path / "device/driver", error);
    list.push_back({{"name", path.filename().string()},
                    {"mtu", number_or(first_line(path / "mtu"), 0)},
                    {"speed_Mb_per_s", number_or(first_line(path / "speed"), -1)},
                    {"driver", driver.empty() ? "virtual" : driver.filename().string()}});
  }
  return list;
}

Json allowed_cpus()
{
  Json list = Json::array();
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) == 0)
    for (std::size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu)
      if (CPU_ISSET(cpu, &set))
        list.push_back(cpu);
  return list;
}

double seconds_of(const timeval& t)
{
  return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
}

} // namespace

Json describe_machine()
{
  utsname system{};
  ::uname(&system);
  struct sysinfo info {};
  ::sysinfo(&info);
  std::array<double, 1> load{};
  if (::getloadavg(load.data(), 1) != 1)
    load[0] = -1.0;
  return {{"host", system.nodename},
          {"cpu", entry("/proc/cpuinfo", "model name", ':')},
          {"cores", static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN))},
          {"cpus_allowed", allowed_cpus()},
          {"memory_bytes", static_cast<double>(info.totalram) * info.mem_unit},
          {"virtual_machine",
           entry("/proc/cpuinfo", "flags", ':').find(" hypervisor") != std::string::npos},
          {"os", entry("/etc/os-release", "PRETTY_NAME", '=')},
          {"kernel", std::string(system.sysname) + " " + system.release},
          {"load_average_1min", load[0]},
          {"tcp_congestion_control", first_line("/proc/sys/net/ipv4/tcp_congestion_control")},
          {"network", interfaces()},
          {"gpus", Json::array()}};
}

Json describe_environment()
{
  constexpr std::array kept{"OMP_",
                            "NCCL_",
                            "CUDA_",
                            "RANK=",
                            "WORLD_SIZE=",
                            "LOCAL_RANK=",
                            "OMPI_COMM_WORLD_",
                            "PMI_",
                            "SLURM_PROCID=",
                            "SLURM_NTASKS=",
                            "SLURM_JOB_ID="};
  std::map<std::string, std::string> sorted;
  for (char** item = environ; *item != nullptr; ++item) {
    const std::string text = *item;
    const std::size_t equals = text.find('=');
    if (equals != std::string::npos &&
        std::any_of(kept.begin(), kept.end(),
                    [&](const char* start) { return text.starts_with(start); }))
      sorted[text.substr(0, equals)] = text.substr(equals + 1);
  }
  Json json = Json::object();
  for (const auto& [key, value] : sorted)
    json[key] = value;
  return json;
}

Json describe_build()
{
  return {{"compiler", kCompiler}, {"flags", kFlags}, {"git_revision", kGitRevision}};
}

std::string utc_now()
{
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

double process_cpu_s()
{
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
}

MachineCpu read_machine_cpu(const std::string& path)
{
  std::istringstream line(first_line(path));
  std::string label;
  double user = 0, nice = 0, system = 0, idle = 0, wait = 0, irq = 0, softirq = 0, steal = 0;
  line >> label >> user >> nice >> system >> idle >> wait >> irq >> softirq >> steal;
  const double tick = 1.0 / static_cast<double>(::sysconf(_SC_CLK_TCK));
  return {(user + nice) * tick, system * tick, irq * tick,
          softirq * tick,       steal * tick,  (idle + wait) * tick};
}

} // namespace foretrain::realrun
