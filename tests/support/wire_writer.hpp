// Writes protocol buffers field by field, and ONNX models with them.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace foretrain::test {

inline std::string varint(std::uint64_t value)
{
  std::string bytes;
  for (; value >= 0x80; value >>= 7)
    bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}

inline std::string number_field(int number, std::uint64_t value)
{
  return varint(static_cast<std::uint64_t>(number) << 3) + varint(value);
}

inline std::string bytes_field(int number, const std::string& bytes)
{
  return varint(static_cast<std::uint64_t>(number) << 3 | 2) + varint(bytes.size()) + bytes;
}

using Dims = std::vector<std::uint64_t>;

/// A tensor without its values; types as of TensorProto, 1 floats, 7 whole numbers.
inline std::string tensor(const Dims& dims, int type)
{
  std::string tensor;
  for (const std::uint64_t size : dims)
    tensor += number_field(1, size);
  return tensor + number_field(2, static_cast<std::uint64_t>(type));
}

inline std::string weight(const std::string& name, const Dims& dims, int type = 1)
{
  return bytes_field(5, tensor(dims, type) + bytes_field(8, name));
}

/// A list of whole numbers with its values: a shape, axes.
inline std::string whole_numbers(const std::string& name, const Dims& numbers)
{
  std::string list = tensor({numbers.size()}, 7) + bytes_field(8, name);
  for (const std::uint64_t number : numbers)
    list += number_field(7, number);
  return bytes_field(5, list);
}

inline std::string value(const std::string& name, const Dims& dims, int field = 11)
{
  std::string shape;
  for (const std::uint64_t size : dims) // 0: a symbol
    shape += bytes_field(1, size == 0 ? bytes_field(2, "batch") : number_field(1, size));
  const std::string tensor = number_field(1, 1) + bytes_field(2, shape);
  return bytes_field(field, bytes_field(1, name) + bytes_field(2, bytes_field(1, tensor)));
}

inline std::string integer_attribute(const std::string& name, std::uint64_t number)
{
  return bytes_field(5, bytes_field(1, name) + number_field(3, number) + number_field(20, 2));
}

inline std::string text_attribute(const std::string& name, const std::string& text)
{
  return bytes_field(5, bytes_field(1, name) + bytes_field(4, text) + number_field(20, 3));
}

inline std::string tensor_attribute(const std::string& name, const Dims& dims)
{
  return bytes_field(5,
                     bytes_field(1, name) + bytes_field(5, tensor(dims, 1)) + number_field(20, 4));
}

inline std::string list_attribute(const std::string& name, const Dims& numbers)
{
  std::string list = bytes_field(1, name);
  for (const std::uint64_t number : numbers)
    list += number_field(8, number);
  return bytes_field(5, list + number_field(20, 7));
}

inline std::string node(const std::string& op, const std::vector<std::string>& inputs,
                        const std::string& output, const std::string& attributes = "")
{
  std::string text;
  for (const std::string& input : inputs)
    text += bytes_field(1, input);
  return bytes_field(1, text + bytes_field(2, output) + bytes_field(3, op + "_" + output) +
                            bytes_field(4, op) + attributes);
}

inline std::string onnx_model(const std::string& graph)
{
  return number_field(1, 8) + bytes_field(2, "pytorch") +
         bytes_field(7, graph + bytes_field(2, "main_graph")) + bytes_field(8, number_field(2, 17));
}

} // namespace foretrain::test
