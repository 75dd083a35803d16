// nvbandwidth -j: the same matrices as the text's, numbers as texts, with a sum to check them by.
#include "calibration/json_log.hpp"
#include "calibration/nvbandwidth_log.hpp"
#include "sim/base/text.hpp"

#include <cmath>

#include <fmt/format.h>

namespace foretrain::calibration {

namespace {

constexpr std::size_t kMostRows = 64;
constexpr double kPrinted = 1e-4; // relative: six digits of each number

// Bytes per second; 0 for "N/A".
double cell_rate(const Value& cell)
{
  const Json& json = cell.json();
  if (json.is_string() && json.get<std::string>() == "N/A")
    return 0;
  const auto printed =
      json.is_string() ? printed_number(json.get<std::string>()) : printed_number(json.dump());
  if (!printed || !(printed->value >= 0) || printed->value > 1e6)
    cell.fail("must be \"N/A\" or a number from 0 to 10^6, got " + cell.shown());
  return printed->value * 1e9;
}

P2pMatrix matrix_of(const Value& testcase, const char* transfer)
{
  P2pMatrix matrix;
  matrix.peer_access = true;
  matrix.transfer = transfer;
  const std::string title = log_text(testcase, "bandwidth_description");
  if (title.find("(GB/s)") == std::string::npos)
    testcase.fail_at("bandwidth_description", "must be in (GB/s), got '" + excerpt(title) + "'");
  const Value rows = log_list(testcase, "bandwidth_matrix");
  const std::size_t gpus = rows.json().size();
  if (gpus < 2 || gpus > kMostRows)
    rows.fail(fmt::format("must have 2 to {} rows, got {}", kMostRows, gpus));
  matrix.values.assign(gpus, std::vector<double>(gpus, 0.0));
  const bool turned = title.find("<-") != std::string::npos; // bytes go to the GPU of a row
  double sum = 0;
  for (std::size_t i = 0; i < gpus; ++i) {
    const Value row = rows.at(i);
    if (!row.json().is_array() || row.json().size() != gpus)
      row.fail(fmt::format("must be a list of {} cells, as there are rows", gpus));
    for (std::size_t k = 0; k < gpus; ++k) {
      const double rate = cell_rate(row.at(k));
      (turned ? matrix.values[k][i] : matrix.values[i][k]) = rate;
      sum += rate / 1e9;
    }
  }
  const double told = log_number(testcase, "sum");
  if (std::abs(sum - told) > kPrinted * std::max(sum, told))
    testcase.fail_at("sum", fmt::format("is {:g}, the matrix adds up to {:g}", told, sum));
  return matrix;
}

} // namespace

P2pLog read_nvbandwidth_json(const std::string& text, const std::string& name)
{
  const Value root(parse_document(text, name));
  const Value testcases = log_list(log_member(root, "nvbandwidth"), "testcases");
  P2pLog log;
  for (std::size_t i = 0; i < testcases.json().size(); ++i) {
    const Value testcase = testcases.at(i);
    const char* transfer = nvbandwidth_transfer(log_text(testcase, "name"));
    if (transfer == nullptr || !testcase.json().contains("bandwidth_matrix"))
      continue; // of another kind, or it could not run: its "status" is Waived or Error
    P2pMatrix matrix = matrix_of(testcase, transfer);
    for (const P2pMatrix& other : log.matrices)
      if (other.transfer == matrix.transfer || other.values.size() != matrix.values.size())
        testcase.fail_at("bandwidth_matrix", "comes again, or is of another number of GPUs: "
                                             "several runs are mixed");
    log.matrices.push_back(std::move(matrix));
  }
  if (log.matrices.empty())
    testcases.fail("holds no matrix of copies between GPUs",
                   "run device_to_device_memcpy_read_ce and _write_ce, on two GPUs or more");
  return log;
}

} // namespace foretrain::calibration
