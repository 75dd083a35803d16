// Reads the text of `nvidia-smi topo -m` in the shapes found in public: with tabs
// or spaces, underlined or not, with or without CPU Affinity, NUMA Affinity and GPU NUMA ID,
// adapters as mlx5_0 or NIC0 with a legend, SOC (old) or SYS, columns that run into each other.
#include "platforms/import_topo.hpp"

#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include <fmt/format.h>

namespace foretrain::platforms {

namespace {

constexpr std::pair<std::string_view, TopoClass> kWords[] = {
    {"X", TopoClass::self},  {"PIX", TopoClass::pix},   {"PXB", TopoClass::pxb},
    {"PHB", TopoClass::phb}, {"NODE", TopoClass::node}, {"SYS", TopoClass::sys},
    {"SOC", TopoClass::sys}, // old drivers
};
constexpr const char* kAllowed = "X, NV1 to NV18, PIX, PXB, PHB, NODE, SYS or SOC";

bool is_digit(char c)
{
  return c >= '0' && c <= '9';
}

// The line without terminal colours (also where copying lost the escape character).
std::string plain(std::string_view line)
{
  std::string out;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '[') {
      std::size_t end = i + 1;
      while (end < line.size() && (is_digit(line[end]) || line[end] == ';'))
        ++end;
      if (end < line.size() && line[end] == 'm') {
        out += ' ';
        i = end;
        continue;
      }
    }
    out += line[i] == '\r' || line[i] == '\x1b' ? ' ' : line[i];
  }
  return out;
}

using Words = std::vector<std::string>;

Words words_of(std::string_view line)
{
  Words words;
  std::string word;
  for (const char c : plain(line) + " ") {
    if (c != ' ' && c != '\t')
      word += c;
    else if (!word.empty())
      words.push_back(std::exchange(word, {}));
  }
  return words;
}

// "GPU12" is 12 for the prefix "GPU"; -1 when it is something else.
int numbered(std::string_view word, std::string_view prefix)
{
  if (!word.starts_with(prefix) || word.size() == prefix.size() || word.size() > prefix.size() + 4)
    return -1;
  int number = 0;
  for (const char c : word.substr(prefix.size())) {
    if (!is_digit(c))
      return -1;
    number = number * 10 + (c - '0');
  }
  return number;
}

// One cell at the start of `text`; length 0 when there is none.
std::pair<TopoCell, std::size_t> cell_at(std::string_view text)
{
  for (const auto& [word, kind] : kWords)
    if (text.starts_with(word))
      return {{kind, 0}, word.size()};
  if (text.starts_with("NV") && text.size() > 2 && is_digit(text[2])) {
    std::size_t end = 3;
    int bricks = text[2] - '0';
    if (end < text.size() && is_digit(text[end]))
      bricks = bricks * 10 + (text[end++] - '0');
    const bool more_digits = end < text.size() && is_digit(text[end]);
    if (bricks >= 1 && bricks <= 18 && !more_digits)
      return {{TopoClass::nvlink, bricks}, end};
  }
  return {{}, 0};
}

// The cells of one word, usually one; several where the columns of a paste ran together.
std::vector<TopoCell> cells_of(std::string_view word)
{
  std::vector<TopoCell> cells;
  while (!word.empty()) {
    const auto [cell, length] = cell_at(word);
    if (length == 0)
      return {};
    cells.push_back(cell);
    word.remove_prefix(length);
  }
  return cells;
}

// "NIC8NIC9" is two column names.
Words names_of(const std::string& word)
{
  Words names;
  std::size_t start = 0;
  for (std::size_t i = 1; i <= word.size(); ++i) {
    const std::string_view rest = std::string_view(word).substr(i);
    if (i < word.size() &&
        !(is_digit(word[i - 1]) &&
          (rest.starts_with("NIC") || rest.starts_with("GPU") || rest.starts_with("mlx"))))
      continue;
    names.push_back(word.substr(start, i - start));
    start = i;
  }
  return names;
}

bool is_header(const Words& words)
{
  return !words.empty() && numbered(names_of(words[0]).front(), "GPU") == 0 &&
         (words.size() == 1 || cells_of(words[1]).empty());
}

class Parser {
public:
  Parser(const std::string& text, const std::string& name)
  {
    m_.file = name;
    int line = 0;
    for (std::size_t start = 0; start <= text.size();) {
      const std::size_t end = std::min(text.find('\n', start), text.size());
      take(words_of(std::string_view(text).substr(start, end - start)), ++line);
      start = end + 1;
    }
    if (m_.names.empty())
      throw ConfigError(name, "", "holds no header GPU0 GPU1 ... of nvidia-smi topo -m");
    if (m_.cells.size() < m_.names.size())
      fail(line, fmt::format("the matrix ends before the row of {}", m_.names[m_.cells.size()]),
           "is the paste complete?");
    check();
    for (std::size_t i = m_.gpus; i < m_.names.size(); ++i)
      if (const auto it = legend_.find(m_.names[i]); it != legend_.end())
        m_.names[i] = it->second;
  }

  TopoMatrix result() { return std::move(m_); }

private:
  [[noreturn]] void fail(int line, const std::string& problem, const std::string& hint = "") const
  {
    throw ConfigError(fmt::format("{}:{}", m_.file, line), "", problem, hint);
  }

  void take(const Words& words, int line)
  {
    if (words.empty())
      return;
    if (is_header(words)) {
      if (!m_.names.empty())
        fail(line, "a second matrix begins here, one is read at a time");
      header(words, line);
    } else if (!m_.names.empty() && m_.cells.size() < m_.names.size()) {
      row(words, line);
    } else if (words.size() == 2 && words[0].ends_with(":") && !m_.names.empty()) {
      legend(words, line);
    } else if (!m_.names.empty() && words.size() > 1 && !cells_of(words[1]).empty() &&
               numbered(words[0], "GPU") >= 0) {
      fail(line, "'" + excerpt(words[0]) + "' is a row that the header has no column for");
    }
  }

  void header(const Words& words, int line)
  {
    std::size_t i = 0;
    for (; i < words.size() && words[i] != "CPU" && words[i] != "NUMA" && words[i] != "GPU"; ++i)
      for (const std::string& name : names_of(words[i])) {
        const int gpu = numbered(name, "GPU");
        if (gpu >= 0 && gpu != static_cast<int>(m_.names.size()))
          fail(line, fmt::format("column {} must be GPU{}, got '{}'", m_.names.size() + 1,
                                 m_.names.size(), excerpt(name)));
        m_.gpus += gpu >= 0 ? 1 : 0;
        const bool known = std::find(m_.names.begin(), m_.names.end(), name) != m_.names.end();
        if (known || !is_device_name(name))
          fail(line, "column '" + excerpt(name) + (known ? "' appears twice" : "' is no device"));
        m_.names.push_back(name);
        if (m_.gpus > static_cast<std::size_t>(kMostGpus) ||
            m_.names.size() > static_cast<std::size_t>(kMostGpus + kMostNics))
          fail(line, fmt::format("there are more than the {} GPUs and {} adapters that are read",
                                 kMostGpus, kMostNics));
      }
    while (i < words.size()) {
      const auto rest = [&](const char* a, const char* b, const char* c) {
        const std::array<const char*, 3> wanted{a, b, c};
        std::size_t k = 0;
        while (k < 3 && wanted[k] != nullptr && i + k < words.size() && words[i + k] == wanted[k])
          ++k;
        if (k < 3 && wanted[k] != nullptr)
          return false;
        i += k;
        return true;
      };
      if (rest("CPU", "Affinity", nullptr))
        extra_.emplace_back("cpu");
      else if (rest("NUMA", "Affinity", nullptr) || rest("NUMA", nullptr, nullptr))
        extra_.emplace_back("numa");
      else if (rest("GPU", "NUMA", "ID"))
        extra_.emplace_back("id");
      else
        fail(line, "column '" + excerpt(words[i]) + "' is not understood",
             "after the devices come CPU Affinity, NUMA Affinity and GPU NUMA ID");
    }
    header_line_ = line;
  }

  void row(const Words& words, int line)
  {
    const std::size_t n = m_.names.size();
    const std::string& name = m_.names[m_.cells.size()];
    if (words[0] != name)
      fail(line, "the row of " + name + " must come here, got '" + excerpt(words[0]) + "'");
    std::vector<TopoCell> cells;
    std::size_t i = 1;
    for (; i < words.size() && cells.size() < n; ++i) {
      const auto found = cells_of(words[i]);
      if (found.empty())
        fail(line, fmt::format("cell {} of {} must be {}; got '{}'", cells.size() + 1, name,
                               kAllowed, excerpt(words[i])));
      cells.insert(cells.end(), found.begin(), found.end());
    }
    if (cells.size() != n)
      fail(line, fmt::format("{} has {} cells, the header of line {} has {} devices", name,
                             cells.size(), header_line_, n));
    const std::size_t left = words.size() - i;
    if (left != 0 && left != extra_.size())
      fail(line, fmt::format("{} has {} values after the matrix, the header of line {} names {}",
                             name, left, header_line_, extra_.size()));
    m_.cpus.emplace_back();
    m_.numa.emplace_back();
    for (std::size_t k = 0; k < left; ++k) {
      const std::string& value = words[i + k];
      const auto fits = [](char c) { return is_digit(c) || c == '-' || c == ','; };
      if (value != "N/A" && (value.size() > 400 || !std::all_of(value.begin(), value.end(), fits)))
        fail(line, fmt::format("affinity of {} must be numbers like 0-19,40-59 or N/A; got '{}'",
                               name, excerpt(value)));
      if (value != "N/A" && extra_[k] == "cpu")
        m_.cpus.back() = value;
      if (value != "N/A" && extra_[k] == "numa")
        m_.numa.back() = value;
    }
    m_.cells.push_back(std::move(cells));
    m_.lines.push_back(line);
  }

  // "NIC0: mlx5_0"
  void legend(const Words& words, int line)
  {
    const std::string nic = words[0].substr(0, words[0].size() - 1);
    if (std::find(m_.names.begin() + static_cast<std::ptrdiff_t>(m_.gpus), m_.names.end(), nic) ==
        m_.names.end())
      return;
    for (const auto& [other, name] : legend_)
      if (other == nic || name == words[1])
        fail(line, "the legend names '" + excerpt(other == nic ? nic : name) + "' twice");
    if (!is_device_name(words[1]))
      fail(line, "'" + excerpt(words[1]) + "' is no name of an adapter");
    legend_[nic] = words[1];
  }

  void check() const
  {
    for (std::size_t a = 0; a < m_.names.size(); ++a)
      for (std::size_t b = 0; b < m_.names.size(); ++b) {
        const TopoCell ab = m_.at(a, b);
        const TopoCell ba = m_.at(b, a);
        if ((a == b) != (ab.kind == TopoClass::self))
          m_.fail(a, fmt::format("the cell of {} and {} must {} X", m_.names[a], m_.names[b],
                                 a == b ? "be" : "not be"));
        if (ab.kind != ba.kind || ab.bricks != ba.bricks)
          m_.fail(std::max(a, b),
                  fmt::format("{} and {} are {} in one direction and {} in the other", m_.names[a],
                              m_.names[b], shown(ab), shown(ba)));
        if (ab.kind == TopoClass::nvlink && (a >= m_.gpus || b >= m_.gpus))
          m_.fail(a, fmt::format("{} and {} cannot be joined by NVLink", m_.names[a], m_.names[b]));
      }
  }

  static std::string shown(TopoCell cell)
  {
    return word(cell.kind) + (cell.bricks > 0 ? std::to_string(cell.bricks) : std::string());
  }

  TopoMatrix m_;
  Words extra_;
  std::map<std::string, std::string> legend_;
  int header_line_ = 0;
};

} // namespace

void TopoMatrix::fail(std::size_t a, const std::string& problem, const std::string& hint) const
{
  throw ConfigError(fmt::format("{}:{}", file, lines[a]), "", problem, hint);
}

const char* word(TopoClass kind)
{
  static constexpr const char* kNames[] = {"X", "NV", "PIX", "PXB", "PHB", "NODE", "SYS"};
  return kNames[static_cast<std::size_t>(kind)];
}

bool has_topo_matrix(const std::string& text)
{
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    if (is_header(words_of(
            std::string_view(text).substr(start, std::min<std::size_t>(end - start, 65536)))))
      return true;
    start = end + 1;
  }
  return false;
}

TopoMatrix parse_topo_matrix(const std::string& text, const std::string& name)
{
  return Parser(text, name).result();
}

FoundNode read_topo_matrix(const std::string& text, const std::string& name, int numa_per_socket)
{
  return topo_tree(parse_topo_matrix(text, name), numa_per_socket);
}

} // namespace foretrain::platforms
