#include "calibration/p2p_log.hpp"

#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

#include <fmt/format.h>

namespace foretrain::calibration {

namespace {

constexpr std::size_t kMostDevices = 64;

class P2pParser {
public:
  P2pParser(const std::string& text, std::string name) : name_(std::move(name))
  {
    const auto lines = log_lines(text, name_);
    for (const LogLine& line : lines)
      take(line);
    if (state_ != State::outside)
      fail(name_, static_cast<int>(lines.size()), cut_off());
    if (log_.matrices.empty())
      throw ConfigError(name_, "", "holds no matrix of p2pBandwidthLatencyTest");
    for (const P2pMatrix& it : log_.matrices)
      if (it.values.size() != log_.devices() ||
          (!log_.gpus.empty() && it.values.size() != log_.gpus.size()))
        fail(name_, it.line,
             fmt::format("the matrix is of {} GPUs, others and the list of devices "
                         "are of {}",
                         it.values.size(), log_.gpus.empty() ? log_.devices() : log_.gpus.size()));
  }

  P2pLog result() { return std::move(log_); }

private:
  enum class State { outside, columns, rows };

  std::string cut_off() const
  {
    return fmt::format("the matrix of line {} ends after {} of {} rows", matrix_.line,
                       matrix_.values.size(), columns_);
  }

  void take(const LogLine& line)
  {
    const auto& words = line.words;
    if (words.empty())
      return;
    if (state_ == State::columns)
      columns(line);
    else if (state_ == State::rows)
      row(line);
    else if (line.text.find("Matrix") != std::string::npos)
      title(line);
    else if (words[0] == "CPU" && last_latency_)
      second_clock(line);
    else if (words[0] == "Device:")
      device(line);
    else if (words.size() > 1 && words[0].find_first_not_of("0123456789") == std::string::npos &&
             printed_number(words[1]) && !connectivity_)
      fail(name_, line.number, "a row stands outside of any matrix: '" + excerpt(line.text) + "'");
  }

  // Device: 0, Tesla V100-SXM2-16GB, pciBusID: 5d, pciDeviceID: 0, pciDomainID:0
  void device(const LogLine& line)
  {
    const std::size_t first = line.text.find(", ");
    const std::size_t end = line.text.find(", pciBusID");
    const std::string number = line.words.size() > 1 ? line.words[1] : "";
    if (first == std::string::npos || end == std::string::npos || end < first + 2 ||
        number != fmt::format("{},", log_.gpus.size()))
      fail(name_, line.number,
           fmt::format("the line of device {} must come here, got '{}'", log_.gpus.size(),
                       excerpt(line.text)));
    log_.gpus.push_back(line.text.substr(first + 2, end - first - 2));
    if (log_.gpus.size() > kMostDevices)
      fail(name_, line.number, fmt::format("there are more than {} devices", kMostDevices));
  }

  void title(const LogLine& line)
  {
    const std::string& t = line.text;
    connectivity_ = t.find("Connectivity") != std::string::npos;
    last_latency_ = false;
    if (connectivity_)
      return;
    matrix_ = {};
    matrix_.line = line.number;
    const bool latency = t.find("Latency") != std::string::npos;
    const bool one_way = t.find("Unidirectional") != std::string::npos;
    const bool both_ways = t.find("Bidirectional") != std::string::npos;
    const bool on = t.find("P2P=Enabled") != std::string::npos;
    const bool off = t.find("P2P=Disabled") != std::string::npos;
    if (latency + one_way + both_ways != 1 || on == off)
      fail(name_, line.number,
           "a matrix must be Unidirectional, Bidirectional or Latency, with "
           "P2P=Enabled or P2P=Disabled; got '" +
               excerpt(t) + "'");
    const char* unit = latency ? "(us)" : "(GB/s)";
    if (line.words.back() != unit)
      fail(name_, line.number,
           std::string("the matrix must be in ") + unit + ", got '" + excerpt(line.words.back()) +
               "'");
    matrix_.quantity = latency   ? P2pMatrix::Quantity::latency
                       : one_way ? P2pMatrix::Quantity::one_way
                                 : P2pMatrix::Quantity::both_ways;
    matrix_.peer_access = on;
    for (const char* transfer : {"Writes", "Reads"})
      if (t.find(std::string("(P2P ") + transfer + ")") != std::string::npos)
        matrix_.transfer = transfer;
    state_ = State::columns;
  }

  // The CPU's clock after the GPU's, below one title.
  void second_clock(const LogLine& line)
  {
    matrix_.values.clear();
    last_latency_ = false;
    state_ = State::columns;
    columns(line);
  }

  void columns(const LogLine& line)
  {
    const auto& words = line.words;
    const bool latency = matrix_.quantity == P2pMatrix::Quantity::latency;
    const bool clock = latency && (words[0] == "GPU" || words[0] == "CPU");
    bool good = (words[0] == "D\\D" || clock) && words.size() > 1;
    for (std::size_t i = 1; i < words.size(); ++i)
      good = good && words[i] == std::to_string(i - 1);
    if (!good || words.size() > kMostDevices + 1)
      fail(name_, line.number, "columns must be D\\D 0 1 2 ...; got '" + excerpt(line.text) + "'");
    matrix_.clock = clock ? words[0] : "";
    columns_ = words.size() - 1;
    state_ = State::rows;
  }

  void row(const LogLine& line)
  {
    const auto& words = line.words;
    const std::size_t number = matrix_.values.size();
    if (words[0] != std::to_string(number))
      fail(name_, line.number, cut_off() + ", got '" + excerpt(line.text) + "'");
    if (words.size() != columns_ + 1)
      fail(name_, line.number,
           fmt::format("row {} has {} values, the matrix has {} columns", number, words.size() - 1,
                       columns_));
    const double si = matrix_.quantity == P2pMatrix::Quantity::latency ? 1e-6 : 1e9;
    std::vector<double> values;
    for (std::size_t i = 1; i < words.size(); ++i) {
      const auto value = printed_number(words[i]);
      if (!value || value->value < 0 || value->value > 1e6)
        fail(name_, line.number,
             "a value must be a number from 0 to 10^6, got '" + excerpt(words[i]) + "'");
      values.push_back(value->value * si);
    }
    matrix_.values.push_back(std::move(values));
    if (matrix_.values.size() < columns_)
      return;
    for (const P2pMatrix& it : log_.matrices)
      if (it.quantity == matrix_.quantity && it.peer_access == matrix_.peer_access &&
          it.transfer == matrix_.transfer && it.clock == matrix_.clock)
        fail(name_, matrix_.line,
             fmt::format("the matrix of line {} comes again: several runs are "
                         "mixed",
                         it.line));
    log_.matrices.push_back(matrix_);
    last_latency_ = matrix_.clock == "GPU";
    state_ = State::outside;
  }

  std::string name_;
  P2pLog log_;
  State state_ = State::outside;
  P2pMatrix matrix_; // being read
  std::size_t columns_ = 0;
  bool connectivity_ = false; // inside the matrix of who reaches whom
  bool last_latency_ = false; // the CPU's matrix may follow
};

} // namespace

bool is_p2p_test(const std::string& text)
{
  return text.find("P2P=Disabled") != std::string::npos ||
         text.find("P2P=Enabled") != std::string::npos;
}

P2pLog read_p2p_test(const std::string& text, const std::string& name)
{
  return P2pParser(text, name).result();
}

} // namespace foretrain::calibration
