#include "models/traces/chakra.hpp"

#include "models/traces/text_source.hpp"
#include "sim/base/error.hpp"
#include "sim/base/wire_format.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <queue>
#include <unordered_map>

#include <fmt/format.h>

namespace foretrain::models {

namespace {

constexpr std::size_t kLongestNode = 64 * 1024 * 1024;
constexpr double kMicrosecond = 1e-6;
constexpr double kLongestDuration = 1e12; // us, of an operation
constexpr double kLargestMessage = 1e15;  // bytes
constexpr int kComputeStream = 7, kCollectiveStream = 20;
constexpr std::size_t kLongestNodeName = 512;

enum NodeType { load = 2, store = 3, compute = 4, send = 5, receive = 6, collective = 7 };

// CollectiveCommType, as NCCL's kernels are called; "" for what is no collective here.
const char* collective_name(std::int64_t type)
{
  static const char* const kNames[] = {"AllReduce",     "Reduce",    "AllGather", "Gather",
                                       "Scatter",       "Broadcast", "AllToAll",  "ReduceScatter",
                                       "ReduceScatter", "Barrier"};
  return type >= 0 && type < static_cast<std::int64_t>(std::size(kNames)) ? kNames[type] : "Other";
}

struct ChakraNode {
  std::uint64_t id = 0;
  std::string name;
  std::int64_t type = 0;
  std::vector<std::uint64_t> after; // control and data
  double duration = 0;              // us
  bool on_host = false;
  std::int64_t comm_type = -1;
  double comm_size = 0;
};

std::string readable(std::string_view bytes)
{
  std::string text(bytes.substr(0, kLongestNodeName));
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f)
      c = '?';
  return text;
}

// A number whatever its type: fields 3 to 27 hold one each (AttributeProto).
double number_of(const WireField& field)
{
  if (field.type == WireType::varint) {
    const bool zigzag = field.number == 15 || field.number == 17;
    const auto value = zigzag ? static_cast<std::int64_t>(field.value >> 1) : field.integer();
    return static_cast<double>(value);
  }
  if (field.type == WireType::fixed64)
    return field.number == 3 ? field.as_double() : static_cast<double>(field.value);
  return field.number == 5 ? static_cast<double>(field.as_float())
                           : static_cast<double>(field.value);
}

void take_attribute(std::string_view message, ChakraNode& node)
{
  WireReader reader(message);
  WireField field;
  std::string name;
  double value = 0;
  while (reader.next(field)) {
    if (field.number == 1 && field.type == WireType::bytes)
      name = readable(field.bytes);
    else if (field.type != WireType::bytes)
      value = number_of(field);
  }
  if (name == "is_cpu_op")
    node.on_host = value != 0;
  else if (name == "comm_type")
    node.comm_type = static_cast<std::int64_t>(std::clamp(value, -1.0, 100.0));
  else if (name == "comm_size")
    node.comm_size = std::max(value, 0.0);
}

bool read_node(std::string_view message, ChakraNode& node)
{
  WireReader reader(message);
  WireField field;
  while (reader.next(field)) {
    const bool number = field.type == WireType::varint;
    if (field.number == 1 && number)
      node.id = field.value;
    else if (field.number == 2 && field.type == WireType::bytes)
      node.name = readable(field.bytes);
    else if (field.number == 3 && number)
      node.type = field.integer();
    else if ((field.number == 4 || field.number == 5) && number)
      node.after.push_back(field.value);
    else if ((field.number == 4 || field.number == 5) && field.type == WireType::bytes) {
      WireReader packed(field.bytes);
      std::uint64_t id = 0;
      while (!packed.at_end() && packed.varint(id))
        node.after.push_back(id);
    } else if (field.number == 7 && number)
      node.duration = static_cast<double>(field.value);
    else if (field.number == 10 && field.type == WireType::bytes)
      take_attribute(field.bytes, node);
  }
  return !reader.damaged();
}

// Messages of a stream, each behind its length; one at a time in memory.
class MessageStream {
public:
  explicit MessageStream(const std::filesystem::path& path)
      : source_(path, {}, SourceKind::bytes), in_(source_.stream())
  {
  }
  /// False at the end, and where the file is cut off.
  bool next(std::string& message)
  {
    std::uint64_t size = 0;
    int shift = 0;
    for (int byte = in_.get();; byte = in_.get()) {
      if (byte == std::char_traits<char>::eof()) {
        cut_ = shift > 0;
        return false;
      }
      size |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      shift += 7;
      if ((byte & 0x80) == 0)
        break;
      if (shift > 28) {
        cut_ = true;
        return false;
      }
    }
    if (size > kLongestNode) {
      cut_ = true;
      return false;
    }
    message.resize(static_cast<std::size_t>(size));
    cut_ = !in_.read(message.data(), static_cast<std::streamsize>(size));
    return !cut_;
  }
  bool cut_off() const { return cut_ || source_.cut_off(); }

private:
  TextSource source_;
  std::istream& in_;
  bool cut_ = false;
};

bool computes(const ChakraNode& node)
{
  return node.type == compute && !node.on_host;
}

void check_node(const ChakraNode& node, const std::string& file)
{
  if (node.duration > kLongestDuration)
    throw ConfigError(file, "", fmt::format("node {} takes longer than 11 days", node.id),
                      "durations are in microseconds");
  if (node.comm_size > kLargestMessage)
    throw ConfigError(file, "", fmt::format("node {} exchanges more than 1 PB", node.id),
                      "comm_size is in bytes");
}

// Lays nodes onto streams in the order in which they can run.
class NodeLayout {
public:
  NodeLayout(std::vector<ChakraNode> nodes, Trace& trace) : nodes_(std::move(nodes)), trace_(trace)
  {
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      if (!place_.emplace(nodes_[i].id, i).second)
        throw ConfigError(trace.file, "", fmt::format("has two nodes of the id {}", nodes_[i].id),
                          "ids tell which node waits for which: they must differ");
    waiting_.assign(nodes_.size(), 0);
    followers_.resize(nodes_.size());
    ready_.assign(nodes_.size(), 0);
    std::size_t unknown = 0, untold = 0;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (computes(nodes_[i]) && nodes_[i].duration <= 0)
        ++untold;
      for (const std::uint64_t id : nodes_[i].after) {
        const auto found = place_.find(id);
        if (found == place_.end()) {
          ++unknown;
          continue;
        }
        followers_[found->second].push_back(i);
        ++waiting_[i];
      }
    }
    if (unknown > 0)
      trace_.notes.push_back(
          fmt::format("{} dependencies are on nodes that the file does not hold", unknown));
    if (untold > 0)
      trace_.notes.push_back(
          fmt::format("{} nodes that compute tell no duration: they take no time", untold));
  }

  /// How many nodes wait for each other in a circle.
  std::size_t run()
  {
    // By id where several could run: that is the order in which they were issued.
    std::priority_queue<std::pair<std::uint64_t, std::size_t>,
                        std::vector<std::pair<std::uint64_t, std::size_t>>, std::greater<>>
        open;
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      if (waiting_[i] == 0)
        open.emplace(nodes_[i].id, i);
    std::size_t done = 0;
    for (; !open.empty(); ++done) {
      const std::size_t i = open.top().second;
      open.pop();
      const double finish = lay(nodes_[i], ready_[i]);
      for (const std::size_t follower : followers_[i]) {
        ready_[follower] = std::max(ready_[follower], finish);
        if (--waiting_[follower] == 0)
          open.emplace(nodes_[follower].id, follower);
      }
    }
    return nodes_.size() - done;
  }

private:
  double lay(const ChakraNode& node, double ready)
  {
    const bool exchange = node.type >= send && node.type <= collective;
    if (!exchange && (!computes(node) || node.duration <= 0))
      return ready;
    double& free = free_[exchange];
    DeviceWork work;
    work.start = std::max(free, ready);
    work.finish = work.start + node.duration * kMicrosecond;
    free = work.finish;
    const std::string name = exchange ? exchange_name(node) : node.name;
    work.name = intern(name);
    work.kind = exchange ? KernelClass::collective : class_of(name);
    if (!exchange && work.kind == KernelClass::collective)
      work.kind = KernelClass::memory;
    work.stream = exchange ? kCollectiveStream : kComputeStream;
    work.bytes = node.comm_size;
    work.correlation = static_cast<std::int64_t>(trace_.work.size());
    // Issued ahead of everything, in this order: only dependencies hold a node back.
    const double issued = -1 + 1e-9 * static_cast<double>(trace_.work.size());
    trace_.calls.push_back({work.correlation, 1, issued, issued, intern("issue")});
    trace_.work.push_back(work);
    return work.finish;
  }

  static std::string exchange_name(const ChakraNode& node)
  {
    return node.type == collective
               ? fmt::format("ncclDevKernel_{}", collective_name(node.comm_type))
               : "ncclDevKernel_SendRecv";
  }

  std::uint32_t intern(const std::string& name)
  {
    const auto [at, fresh] =
        known_.try_emplace(name, static_cast<std::uint32_t>(trace_.names.size()));
    if (fresh)
      trace_.names.push_back(name);
    return at->second;
  }

  std::vector<ChakraNode> nodes_;
  Trace& trace_;
  std::unordered_map<std::uint64_t, std::size_t> place_;
  std::vector<int> waiting_;
  std::vector<std::vector<std::size_t>> followers_;
  std::vector<double> ready_;
  std::map<bool, double> free_;
  std::unordered_map<std::string, std::uint32_t> known_{{"", 0}};
};

} // namespace

bool looks_like_chakra(const std::string& head)
{
  // A short message of a version ("0.0.4") and attributes.
  WireReader reader(head);
  std::uint64_t size = 0;
  std::string_view metadata;
  if (!reader.varint(size) || size == 0 || !reader.take(size, metadata))
    return false;
  WireReader message(metadata);
  WireField field;
  return message.next(field) && field.number == 1 && field.type == WireType::bytes &&
         field.bytes.size() >= 3 && field.bytes.size() < 32 &&
         std::all_of(field.bytes.begin(), field.bytes.end(), [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-';
         });
}

Trace read_chakra(const std::filesystem::path& path, int ranks)
{
  MessageStream stream(path);
  std::string message;
  if (!stream.next(message))
    throw ConfigError(path.string(), "", "is no Chakra trace");
  Trace trace;
  trace.file = path.string();
  trace.format = "Chakra trace";
  trace.world = ranks;
  std::vector<ChakraNode> nodes;
  bool damaged = false;
  double durations = 0;
  while (!damaged && stream.next(message)) {
    ChakraNode node;
    damaged = !read_node(message, node);
    if (!damaged)
      check_node(node, trace.file);
    durations += node.duration;
    nodes.push_back(std::move(node));
  }
  if (nodes.empty())
    throw ConfigError(path.string(), "", "is a Chakra trace without nodes");
  if (durations <= 0)
    throw ConfigError(path.string(), "", "tells no duration of any operation",
                      "link it with a Kineto trace of the same run (chakra_trace_link)");
  if (damaged || stream.cut_off())
    trace.notes.push_back(fmt::format("the file is {} behind node {}: only the {} nodes before are "
                                      "used",
                                      damaged ? "damaged" : "cut off", nodes.back().id,
                                      nodes.size()));
  const std::size_t stuck = NodeLayout(std::move(nodes), trace).run();
  if (stuck > 0) {
    const std::string circle = fmt::format("{} nodes wait for each other in a circle", stuck);
    if (trace.work.empty())
      throw ConfigError(trace.file, "", "holds no work of a device that can begin: " + circle);
    trace.notes.push_back(circle + " and are left out");
  }
  trace.notes.emplace_back(
      "a Chakra trace tells no streams and no host times: kernels are taken one "
      "after the other, each as soon as what it depends on has ended");
  if (ranks == 0)
    trace.notes.emplace_back("it does not tell how many ranks take part: give --ranks N");
  finish_trace(trace);
  return trace;
}

} // namespace foretrain::models
