// Output of nccl-tests in the shapes of its versions, with numbers of our own (a latency and a
// bandwidth), printed with its formats.
#pragma once

#include "calibration/nccl_tests_log.hpp"
#include "sim/base/error.hpp"

#include <cstdio>

#include <fmt/format.h>

namespace foretrain::test {

using namespace calibration;

struct NcclText {
  int ranks = 4;
  int hosts = 1;
  bool hash = true;  // lines begin with '#'
  bool redop = true; // column
  bool blank_redop = false;
  bool root = false;       // column, with #wrong instead of error (since 2.11)
  bool iterations = false; // -I
  bool json = false;       // -J
  std::string program = "all_reduce_perf";
  std::string units = "(us)  (GB/s)  (GB/s)";
};

/// As nccl-tests prints times and bandwidths: two decimals, fewer when the number is long.
inline std::string printed(double value, int width)
{
  int power = 0;
  for (double bound = 1; value >= bound; bound *= 10)
    ++power;
  const int decimals = power < width - 2 ? 2 : power < width - 1 ? 1 : 0;
  return fmt::format("{:>{}.{}f}", value, width, decimals);
}

inline double time_us(double size)
{
  return 17.3 + size / 43.21e3;
}

inline std::string nccl_json(const NcclText& shape)
{
  std::string text = fmt::format(R"({{"version":2,"start_time":"2025-11-01 10:00:00",
"args":["./build/{}","-J","log.json"],"env":["A=b"],"nccl_version":22703,
"config":{{"nthreads":1,"ngpus":1,"minimum_bytes":8,"devices":[)",
                                 shape.program);
  for (int r = 0; r < shape.ranks; ++r)
    text += fmt::format(R"({}{{"rank":{},"group":0,"pid":{},"hostname":"node{}","device":{},
"device_hex":"0000:1a:00","device_info":"Tesla V100-SXM2-16GB"}})",
                        r == 0 ? "" : ",", r, 100 + r, r % shape.hosts, r);
  text += "]},\"results\":[\n";
  const double factor = bus_factor(detail::collective_of(shape.program), shape.ranks).value();
  double sum = 0;
  int rows = 0;
  for (double size = 8; size <= 1 << 24; size *= 8, ++rows) {
    const double t = time_us(size);
    const double algbw = size / t / 1e3;
    sum += algbw * factor;
    const auto half = fmt::format(R"({{"time":{:f},"alg_bw":{:f},"bus_bw":{:f},"nwrong":{:f}}})", t,
                                  algbw, algbw * factor, 0.0);
    text += fmt::format(R"({}{{"size":{},"count":{},"type":"float","redop":"sum","root":"    -1",
"out_of_place":{},"in_place":{},"actual_iterations":20,"experiment_name":"x"}})",
                        rows == 0 ? "" : ",\n", size, size / 4, half, half);
  }
  return text + fmt::format(R"(],"out_of_bounds":{{"count":0,"okay":"true"}},
"average_bus_bandwidth":{{"bandwidth":{:f},"okay":"unchecked"}},"errors":[]}})",
                            sum / rows);
}

inline std::string nccl_text(const NcclText& shape)
{
  if (shape.json)
    return nccl_json(shape);
  const std::string hash = shape.hash ? "#" : "";
  std::string text = "$ mpirun -np 4 ./build/" + shape.program + " -b 8 -e 16M -f 8\n";
  text += hash +
          " nThread 1 nGpus 1 minBytes 8 maxBytes 16777216 step: 8(factor) warmup iters: 5 "
          "iters: 20 validation: 1\n" +
          hash + "\n" + hash + " Using devices\n";
  for (int r = 0; r < shape.ranks; ++r)
    text +=
        fmt::format("{}   Rank {:2} {}Pid {:6} on {:>10} device {:2} [{}] Tesla V100-SXM2-16GB\n",
                    hash, r, shape.root ? "Group  0 " : "", 4000 + r,
                    fmt::format("node{}", r % shape.hosts), r, shape.root ? "0000:1a:00" : "0x1a");
  const std::string wrong = shape.root ? "#wrong" : "error";
  std::string half = "     time   algbw   busbw " + wrong;
  std::string units = "     " + shape.units;
  if (shape.iterations) {
    half += "  i_min  i_max  i_p99  i_cv%";
    units += "  (us)  (us)  (us)  (%)";
  }
  const std::string keys =
      std::string(shape.redop ? "   redop" : "") + (shape.root ? "    root" : "");
  text +=
      hash + "\n" + hash + "                      out-of-place                       in-place\n";
  text += hash + "       size         count      type" + keys + half + half + "\n";
  text += hash + "        (B)    (elements)          " + units + "  " + units + "\n";
  const double factor = bus_factor(detail::collective_of(shape.program), shape.ranks).value();
  double sum = 0;
  int rows = 0;
  for (double size = 8; size <= 1 << 24; size *= 8, ++rows) {
    const double t = time_us(size);
    const double algbw = size / t / 1e3;
    sum += algbw * factor;
    const std::string values = fmt::format(
        "  {}  {}  {}  {:>5}{}", printed(t, 7), printed(algbw, 6), printed(algbw * factor, 6),
        shape.root ? "0" : "1e-07", shape.iterations ? "  17.30  21.00  20.50   1.25" : "");
    text += fmt::format("{:12}  {:12}  {:>8}{}{}{}{}\n", size, size / 4, "float",
                        shape.redop ? (shape.blank_redop ? "        " : "     sum") : "",
                        shape.root ? "      -1" : "", values, values);
  }
  text += hash + " Out of bounds values : 0 OK\n";
  return text + fmt::format("{} Avg bus bandwidth    : {:g} \n{}\n", hash, sum / rows, hash);
}

inline std::string nccl_error(const std::string& text)
{
  try {
    read_nccl_tests(text, "log");
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

} // namespace foretrain::test
