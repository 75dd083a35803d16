#include "models/graphs/onnx_file.hpp"

#include "models/traces/text_source.hpp"
#include "sim/base/error.hpp"
#include "sim/base/wire_format.hpp"

#include <algorithm>
#include <cstring>
#include <set>

#include <fmt/format.h>

namespace foretrain::models {

namespace {

constexpr std::uintmax_t kLargest = 2'000'000'000;   // protobuf's own limit is 2 GiB
constexpr std::size_t kSmallTensor = 64;             // integers that may be a shape
constexpr int kInt64 = 7, kInt32 = 6, kBool = 9;     // TensorProto.DataType
constexpr std::int64_t kLargestSide = 2'000'000'000; // of a tensor
constexpr int kDeepestBranch = 16;                   // of graphs inside of nodes

std::string text_of(std::string_view bytes)
{
  std::string text(bytes.substr(0, 512));
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f)
      c = '?';
  return text;
}

// Calls `take` with each field; false where the message is damaged.
template <class Take>
bool each_field(std::string_view message, const Take& take)
{
  WireReader reader(message);
  WireField field;
  while (reader.next(field))
    take(field);
  return !reader.damaged();
}

// A repeated integer: packed, or one of them.
void add_integers(const WireField& field, std::vector<std::int64_t>& list)
{
  if (field.type != WireType::bytes) {
    list.push_back(field.integer());
    return;
  }
  WireReader packed(field.bytes);
  std::uint64_t value = 0;
  while (!packed.at_end() && packed.varint(value))
    list.push_back(static_cast<std::int64_t>(value));
}

class OnnxReader {
public:
  OnnxReader(OnnxFile& file, std::string path) : file_(file), path_(std::move(path)) {}

  bool model(std::string_view message)
  {
    return each_field(message,
                      [&](const WireField& field) {
                        if (field.number == 2 && field.type == WireType::bytes)
                          file_.producer = text_of(field.bytes);
                        else if (field.number == 7 && field.type == WireType::bytes)
                          whole_ = graph(field.bytes) && whole_;
                      }) &&
           whole_;
  }

private:
  bool graph(std::string_view message)
  {
    std::vector<std::string> inputs;
    const bool whole = each_field(message, [&](const WireField& field) {
      if (field.type != WireType::bytes)
        return;
      switch (field.number) {
      case 1:
        node(field.bytes);
        break;
      case 2:
        file_.graph = text_of(field.bytes);
        break;
      case 5:
        tensor(field.bytes);
        break;
      case 11:
        inputs.push_back(value_info(field.bytes));
        break;
      case 12:
      case 13:
        value_info(field.bytes);
        break;
      default:
        break;
      }
    });
    for (std::string& input : inputs)
      if (file_.weights.count(input) == 0)
        file_.inputs.push_back(std::move(input));
    return whole;
  }

  void node(std::string_view message)
  {
    OnnxNode node;
    whole_ = each_field(message,
                        [&](const WireField& field) {
                          if (field.type != WireType::bytes)
                            return;
                          switch (field.number) {
                          case 1:
                            node.inputs.push_back(text_of(field.bytes));
                            break;
                          case 2:
                            node.outputs.push_back(text_of(field.bytes));
                            break;
                          case 3:
                            node.name = text_of(field.bytes);
                            break;
                          case 4:
                            node.op = text_of(field.bytes);
                            break;
                          case 5:
                            attribute(field.bytes, node);
                            break;
                          case 7:
                            node.domain = text_of(field.bytes);
                            break;
                          default:
                            break;
                          }
                        }) &&
             whole_;
    file_.nodes.push_back(std::move(node));
  }

  void attribute(std::string_view message, OnnxNode& node)
  {
    std::string name;
    std::vector<std::int64_t> list;
    std::int64_t integer = 0;
    std::string text;
    std::string_view value;
    bool single = false;
    each_field(message, [&](const WireField& field) {
      if (field.number == 1 && field.type == WireType::bytes)
        name = text_of(field.bytes);
      else if (field.number == 3 && field.type == WireType::varint) {
        integer = field.integer();
        single = true;
      } else if (field.number == 4 && field.type == WireType::bytes)
        text = text_of(field.bytes);
      else if (field.number == 5 && field.type == WireType::bytes)
        value = field.bytes;
      else if ((field.number == 6 || field.number == 11) && field.type == WireType::bytes)
        branch(field.bytes, node.captured, kDeepestBranch);
      else if (field.number == 8)
        add_integers(field, list);
    });
    if (single)
      node.integers[name] = integer;
    if (!list.empty() && node.op == "Constant" && name == "value_ints" && !node.outputs.empty())
      whole_numbers(node.outputs.front(), list);
    if (!list.empty())
      node.lists[name] = std::move(list);
    if (!text.empty())
      node.texts[name] = text;
    if (!value.empty() && node.op == "Constant" && !node.outputs.empty())
      tensor(value, node.outputs.front());
  }

  // A constant that is a list.
  void whole_numbers(const std::string& name, const std::vector<std::int64_t>& list)
  {
    file_.shapes[name] = file_.constants[name] = {static_cast<std::int64_t>(list.size())};
    file_.whole_numbers.insert(name);
    if (list.size() <= kSmallTensor)
      file_.values[name] = list;
  }

  // A graph inside of a node: what it holds and takes.
  void branch(std::string_view message, std::vector<std::string>& captured, int depth)
  {
    if (depth == 0)
      return;
    const auto of_attribute = [&](const WireField& field) {
      if ((field.number == 6 || field.number == 11) && field.type == WireType::bytes)
        branch(field.bytes, captured, depth - 1);
    };
    const auto of_node = [&](const WireField& field) {
      if (field.number == 1 && field.type == WireType::bytes)
        captured.push_back(text_of(field.bytes));
      else if (field.number == 5 && field.type == WireType::bytes)
        each_field(field.bytes, of_attribute);
    };
    const auto of_graph = [&](const WireField& field) {
      if (field.number == 5 && field.type == WireType::bytes)
        tensor(field.bytes);
      else if (field.number == 1 && field.type == WireType::bytes)
        each_field(field.bytes, of_node);
    };
    whole_ = each_field(message, of_graph) && whole_;
  }

  // Its shape, and its values where these may be a shape. `given`: its name where it has none.
  void tensor(std::string_view message, const std::string& given = "")
  {
    OnnxShape dims;
    std::vector<std::int64_t> values;
    std::string name = given;
    std::int64_t type = 0;
    std::string_view raw;
    whole_ =
        each_field(
            message,
            [&](const WireField& field) {
              if (field.number == 1)
                add_integers(field, dims);
              else if (field.number == 2 && field.type == WireType::varint)
                type = field.integer();
              else if (field.number == 8 && field.type == WireType::bytes && given.empty())
                name = text_of(field.bytes);
              else if (field.number == 9 && field.type == WireType::bytes)
                raw = field.bytes;
              else if ((field.number == 5 || field.number == 7) &&
                       (field.type != WireType::bytes || field.bytes.size() < 16 * kSmallTensor))
                add_integers(field, values);
            }) &&
        whole_;
    const std::size_t size = type == kInt64 ? 8 : type == kInt32 ? 4 : 0;
    if (size > 0 && raw.size() <= size * kSmallTensor)
      for (std::size_t i = 0; i + size <= raw.size(); i += size) {
        std::int64_t value = 0;
        if (size == 8) {
          std::memcpy(&value, raw.data() + i, 8);
        } else {
          std::int32_t narrow = 0;
          std::memcpy(&narrow, raw.data() + i, 4);
          value = narrow;
        }
        values.push_back(value);
      }
    if (name.empty())
      return;
    for (const std::int64_t side : dims)
      if (side < 0 || side > kLargestSide)
        throw ConfigError(path_, "", fmt::format("tensor '{}' has a dimension of {}", name, side),
                          fmt::format("0 to {}", kLargestSide));
    if (values.size() <= kSmallTensor)
      file_.values[name] = std::move(values);
    file_.shapes[name] = dims;
    if (type == kInt64 || type == kInt32 || type == kBool)
      file_.whole_numbers.insert(name);
    (given.empty() ? file_.weights : file_.constants)[name] = std::move(dims);
  }

  // Notes the shape; returns the name.
  std::string value_info(std::string_view message)
  {
    std::string name;
    OnnxShape shape;
    bool told = false;
    each_field(message, [&](const WireField& field) {
      if (field.type != WireType::bytes)
        return;
      if (field.number == 1)
        name = text_of(field.bytes);
      else if (field.number == 2)
        each_field(field.bytes, [&](const WireField& type) {
          if (type.number == 1 && type.type == WireType::bytes) // of a tensor
            each_field(type.bytes, [&](const WireField& part) {
              if (part.number == 2 && part.type == WireType::bytes) {
                told = true;
                dimensions(part.bytes, shape);
              }
            });
        });
    });
    if (told && file_.shapes.count(name) == 0)
      file_.shapes[name] = std::move(shape);
    return name;
  }

  void dimensions(std::string_view message, OnnxShape& shape)
  {
    each_field(message, [&](const WireField& dimension) {
      if (dimension.number != 1 || dimension.type != WireType::bytes)
        return;
      std::int64_t size = 0;
      each_field(dimension.bytes, [&](const WireField& field) {
        if (field.number == 1 && field.type == WireType::varint)
          size = field.integer();
        else if (field.number == 2 && field.type == WireType::bytes)
          symbol(text_of(field.bytes));
      });
      shape.push_back(size > 0 ? size : 1);
    });
  }

  void symbol(const std::string& name)
  {
    if (std::find(file_.symbols.begin(), file_.symbols.end(), name) == file_.symbols.end())
      file_.symbols.push_back(name);
  }

  OnnxFile& file_;
  std::string path_;
  bool whole_ = true;
};

} // namespace

bool looks_like_onnx(const std::string& head)
{
  // ModelProto: ir_version (1) first, then texts and opset, the graph (7); a producer is a text.
  WireReader reader(head);
  WireField field;
  bool version = false;
  for (int i = 0; i < 8 && reader.next(field); ++i) {
    if (field.number == 1 && field.type == WireType::varint && field.value >= 1 &&
        field.value < 100)
      version = true;
    else if (field.number > 25 || (field.number == 1 && field.type != WireType::varint))
      return false;
    if (version && (field.number == 2 || field.number == 7 || field.number == 8))
      return true;
  }
  // The graph is longer than the head: its tag stands right behind.
  return version && reader.damaged() && field.number == 7;
}

OnnxFile read_onnx(const std::filesystem::path& path)
{
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  if (!error && size > kLargest)
    throw ConfigError(path.string(), "",
                      fmt::format("is {:.1f} GB large", 1e-9 * static_cast<double>(size)),
                      "save it with save_as_external_data=True: weights are not needed");
  const std::string bytes = first_bytes(path, kLargest);
  OnnxFile file;
  const bool whole = OnnxReader(file, path.string()).model(bytes);
  if (!whole)
    throw ConfigError(path.string(), "", "is a damaged or cut off ONNX model",
                      "was it downloaded completely?");
  if (file.nodes.empty())
    throw ConfigError(path.string(), "", "is an ONNX model without operators");
  return file;
}

} // namespace foretrain::models
