// What nccl-tests prints: text of every version since 2.0 and the JSON of -J.
//
// Bandwidths as in nccl-tests, doc/PERFORMANCE.md: algbw = size / time, busbw = algbw x factor(n).
// A row whose time and bandwidths contradict each other by more than rounding is refused.
#pragma once

#include "calibration/text_log.hpp"
#include "sim/base/units.hpp"

#include <functional>

namespace foretrain::calibration {

struct NcclTiming {
  Seconds time;
  BytesPerSecond algorithm_bandwidth;
  BytesPerSecond bus_bandwidth;
  std::optional<double> wrong; // elements with a wrong value; empty when not checked
};

struct NcclRow {
  int line = 0; // in the text; 0 in JSON
  Bytes size;
  long long count = 0;   // elements
  std::string type;      // "float"
  std::string operation; // "sum", "none", "" where not printed
  int root = -1;
  NcclTiming out_of_place;
  std::optional<NcclTiming> in_place;
};

struct NcclRank {
  int rank = 0;
  int group = 0;
  std::string host;
  int device = 0;
  std::string gpu; // "Tesla V100-SXM2-16GB"
};

/// Columns between the type and the times. Until 2021 each program had its own; since then all have
/// both.
struct NcclColumns {
  bool operation = true;
  bool root = true;
};

struct NcclTestsLog {
  std::string collective; // "all_reduce", "" when the log does not say
  NcclColumns columns;
  std::vector<NcclRank> ranks;
  int gpus_per_thread = 1; // on which one thread launches in turn (-g)
  std::vector<NcclRow> rows;
  std::optional<BytesPerSecond> average_bus_bandwidth; // as printed at the end
  bool complete = false;                               // the run reached its end
  std::vector<std::string> notes;                      // what a reader of the numbers should know

  /// Ranks of one communicator; 0 when the log does not say.
  int ranks_per_communicator() const;
  /// Distinct host names.
  int nodes() const;
  /// What the ranks' hosts say against a number of nodes that somebody tells; "" where nothing.
  std::string against_nodes(int told) const;
};

/// Whether `text` is output of nccl-tests of either format.
bool is_nccl_tests(const std::string& text);

/// Throws ConfigError with file and line.
NcclTestsLog read_nccl_tests(const std::string& text, const std::string& name);
NcclTestsLog read_nccl_tests_file(const std::string& path);

/// Every program in a text that may hold several, with Markdown taken off.
/// Throws ConfigError with file and line.
std::vector<NcclTestsLog> read_nccl_tests_all(const std::string& text, const std::string& name);
std::vector<NcclTestsLog> read_nccl_tests_files(const std::string& path);
/// The parts of such a text, lines at their numbers.
std::vector<std::string> split_nccl_tests(const std::string& text);

/// Programs, without "_perf", that can have written the log: the one that it names, else those that
/// its columns, operations, roots, counts, ratios of bandwidths and checks allow.
std::vector<std::string> possible_collectives(const NcclTestsLog& log);
std::vector<std::string> known_collectives();

/// Bytes of an element of a type, as nccl-tests names it; 0 for an unknown one.
int element_bytes(const std::string& type);

/// busbw / algbw of a collective over `ranks`; empty for an unknown one.
std::optional<double> bus_factor(const std::string& collective, int ranks);

namespace detail {

/// The numbers of one half of a row, as printed.
struct PrintedTiming {
  Printed time_us;
  Printed algbw;
  Printed busbw;
  bool cpu_time = false; // -C: the time is not the one the bandwidths come from
};
using Fail = std::function<void(const std::string& problem, const std::string& hint)>;

/// "all_reduce" for the path of all_reduce_perf; "" for anything else.
std::string collective_of(const std::string& program);
/// Refuses a row that contradicts itself; says in `log.notes` what is odd but known.
void check_row(NcclTestsLog& log, const NcclRow& row, const std::vector<PrintedTiming>& halves,
               const Fail& fail);
/// Ranks that appear twice, wrong results, an average that is not that of the rows.
void check_log(NcclTestsLog& log, const std::string& name);
void add_note(NcclTestsLog& log, const std::string& note);

NcclTestsLog read_nccl_tests_json(const std::string& text, const std::string& name);

} // namespace detail

} // namespace foretrain::calibration
