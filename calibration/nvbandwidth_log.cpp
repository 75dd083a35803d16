#include "calibration/nvbandwidth_log.hpp"

#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace foretrain::calibration {

namespace {

constexpr std::size_t kMostGpus = 64;

struct CopyTest {
  const char* name;
  const char* transfer;
};
constexpr CopyTest kCopyTests[] = {{"device_to_device_memcpy_read_ce", "Reads"},
                                   {"device_to_device_memcpy_write_ce", "Writes"}};

class NvbandwidthParser {
public:
  NvbandwidthParser(const std::string& text, std::string name) : name_(std::move(name))
  {
    const auto lines = log_lines(text, name_);
    for (const LogLine& line : lines)
      take(line);
    if (reading_)
      fail(name_, static_cast<int>(lines.size()), unfinished());
    if (log_.matrices.empty())
      throw ConfigError(name_, "", "holds no matrix of copies between GPUs",
                        "run device_to_device_memcpy_read_ce and _write_ce, on two GPUs or more");
    for (const P2pMatrix& it : log_.matrices)
      if (it.values.size() != log_.devices() ||
          (!log_.gpus.empty() && log_.gpus.size() != it.values.size()))
        fail(name_, it.line,
             fmt::format("the matrix is of {} GPUs, others and the list of devices are of {}",
                         it.values.size(), log_.gpus.empty() ? log_.devices() : log_.gpus.size()));
  }

  P2pLog result() { return std::move(log_); }

private:
  std::string unfinished() const
  {
    return fmt::format("the matrix of line {} ends after {} of {} rows", matrix_.line,
                       matrix_.values.size(), columns_);
  }

  void take(const LogLine& line)
  {
    const auto& words = line.words;
    if (words.empty())
      return;
    if (reading_ && columns_ > 0)
      row(line);
    else if (reading_)
      columns(line);
    else if (words[0] == "Running" && words.size() > 1)
      begin(line);
    else if (words[0] == "Device" && words.size() > 2 &&
             words[1] == fmt::format("{}:", log_.gpus.size()))
      device(line);
  }

  // Device 0: NVIDIA H100 80GB HBM3 (00000000:18:00)
  void device(const LogLine& line)
  {
    const std::size_t first = line.text.find(": ") + 2;
    const std::size_t end = std::min(line.text.find(" (", first), line.text.size());
    log_.gpus.push_back(line.text.substr(first, end - first));
    if (log_.gpus.size() > kMostGpus)
      fail(name_, line.number, fmt::format("there are more than {} devices", kMostGpus));
  }

  void begin(const LogLine& line)
  {
    std::string test = line.words[1];
    if (test.ends_with("."))
      test.pop_back();
    if (const char* transfer = nvbandwidth_transfer(test)) {
      reading_ = true;
      matrix_ = {};
      matrix_.line = line.number;
      matrix_.peer_access = true;
      matrix_.transfer = transfer;
      columns_ = 0;
      turned_ = false;
    }
  }

  // The title, "WAIVED" where a test could not run, then the numbers of the columns.
  void columns(const LogLine& line)
  {
    const auto& words = line.words;
    if (words[0] == "Running" || line.text.find("WAIVED") != std::string::npos ||
        line.text.find("Waived") != std::string::npos) {
      reading_ = false;
      take(line);
      return;
    }
    if (line.text.find("bandwidth") != std::string::npos) {
      if (line.text.find("(GB/s)") == std::string::npos)
        fail(name_, line.number, "the matrix must be in (GB/s), got '" + excerpt(line.text) + "'");
      turned_ = line.text.find("<-") != std::string::npos;
      return;
    }
    for (std::size_t i = 0; i < words.size(); ++i)
      if (words[i] != std::to_string(i) || words.size() > kMostGpus)
        fail(name_, line.number, "columns must be 0 1 2 ...; got '" + excerpt(line.text) + "'");
    columns_ = words.size();
  }

  void row(const LogLine& line)
  {
    const auto& words = line.words;
    if (words[0] != std::to_string(matrix_.values.size()) || words.size() != columns_ + 1)
      fail(name_, line.number, unfinished() + ", got '" + excerpt(line.text) + "'");
    std::vector<double> values;
    for (std::size_t i = 1; i < words.size(); ++i) {
      const auto value = printed_number(words[i]);
      if (words[i] != "N/A" && (!value || value->value < 0 || value->value > 1e6))
        fail(name_, line.number,
             "a value must be N/A or a number from 0 to 10^6, got '" + excerpt(words[i]) + "'");
      values.push_back(value ? value->value * 1e9 : 0.0);
    }
    matrix_.values.push_back(std::move(values));
    if (matrix_.values.size() < columns_)
      return;
    for (const P2pMatrix& it : log_.matrices)
      if (it.transfer == matrix_.transfer)
        fail(name_, matrix_.line,
             fmt::format("the matrix of line {} comes again: several runs are mixed", it.line));
    if (turned_)
      for (std::size_t a = 0; a < columns_; ++a)
        for (std::size_t b = 0; b < a; ++b)
          std::swap(matrix_.values[a][b], matrix_.values[b][a]);
    log_.matrices.push_back(matrix_);
    reading_ = false;
  }

  std::string name_;
  P2pLog log_;
  bool reading_ = false; // a matrix
  P2pMatrix matrix_;
  std::size_t columns_ = 0;
  bool turned_ = false; // bytes go to the GPU of a row: "GPU(row) <- GPU(column)"
};

} // namespace

bool is_nvbandwidth(const std::string& text)
{
  return text.find("nvbandwidth Version") != std::string::npos ||
         text.find("\"nvbandwidth\"") != std::string::npos;
}

const char* nvbandwidth_transfer(const std::string& test)
{
  for (const CopyTest& known : kCopyTests)
    if (test == known.name)
      return known.transfer;
  return nullptr;
}

P2pLog read_nvbandwidth(const std::string& text, const std::string& name)
{
  if (text.find("\"nvbandwidth\"") != std::string::npos)
    return read_nvbandwidth_json(text, name);
  return NvbandwidthParser(text, name).result();
}

} // namespace foretrain::calibration
