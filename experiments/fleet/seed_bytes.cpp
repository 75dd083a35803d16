#include "experiments/fleet/seed_bytes.hpp"

#include <cstring>
#include <stdexcept>
#include <type_traits>

namespace foretrain::experiments {

namespace {

using namespace models::fleet;

// Values as bytes, for the same program on the same machine.
class Packer {
public:
  template <class T>
  void operator()(const T& value)
  {
    static_assert(std::is_trivially_copyable_v<T>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  template <class T>
  void operator()(const std::vector<T>& values)
  {
    static_assert(std::is_trivially_copyable_v<T>);
    (*this)(values.size());
    bytes_.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  }
  void operator()(const std::string& text)
  {
    (*this)(text.size());
    bytes_ += text;
  }
  std::string take() { return std::move(bytes_); }

private:
  std::string bytes_;
};

class Unpacker {
public:
  explicit Unpacker(const std::string& bytes) : bytes_(bytes) {}

  template <class T>
  void operator()(T& value)
  {
    static_assert(std::is_trivially_copyable_v<T>);
    copy(&value, sizeof value);
  }
  template <class T>
  void operator()(std::vector<T>& values)
  {
    static_assert(std::is_trivially_copyable_v<T>);
    values.resize(length());
    copy(values.data(), values.size() * sizeof(T));
  }
  void operator()(std::string& text)
  {
    text.resize(length());
    copy(text.data(), text.size());
  }

private:
  std::size_t length()
  {
    std::size_t number = 0;
    (*this)(number);
    if (number > bytes_.size())
      throw std::logic_error("a seed's process wrote what cannot be read");
    return number;
  }
  void copy(void* to, std::size_t size)
  {
    if (bytes_.size() - at_ < size)
      throw std::logic_error("a seed's process wrote too little");
    if (size > 0)
      std::memcpy(to, bytes_.data() + at_, size);
    at_ += size;
  }

  const std::string& bytes_;
  std::size_t at_ = 0;
};

template <class V, class Result>
void each_value(V& v, Result& result)
{
  v(result.jobs);
  v(result.gpu_time);
  v(result.start);
  v(result.end);
  v(result.failures);
  v(result.interruptions);
  v(result.drained);
  v(result.down_most);
  v(result.down_mean);
  v(result.stuck);
  v(result.stopped);
  v(result.spans);
  v(result.held_waiting);
  v(result.overheads);
  v(result.down);
  v(result.moments);
}

} // namespace

std::string packed(const FleetResult& result, const Situations& learnt)
{
  Packer packer;
  each_value(packer, result);
  packer(learnt.size());
  for (const auto& [situation, rates] : learnt) {
    packer(situation);
    packer(rates.throughputs);
    packer(rates.transfers);
    packer(rates.fabric.size());
    for (const FabricUse& use : rates.fabric) {
      packer(use.resource);
      packer(use.first_below);
      packer(use.share);
    }
  }
  return packer.take();
}

FleetResult unpacked(const std::string& bytes, SpeedTable& table)
{
  FleetResult result;
  Unpacker unpacker(bytes);
  each_value(unpacker, result);
  std::size_t situations = 0;
  unpacker(situations);
  for (std::size_t i = 0; i < situations; ++i) {
    std::string situation;
    PointRates rates;
    unpacker(situation);
    unpacker(rates.throughputs);
    unpacker(rates.transfers);
    std::size_t uses = 0;
    unpacker(uses);
    for (std::size_t k = 0; k < uses; ++k) {
      FabricUse use;
      unpacker(use.resource);
      unpacker(use.first_below);
      unpacker(use.share);
      rates.fabric.push_back(std::move(use));
    }
    table.learn(situation, std::move(rates));
  }
  return result;
}

} // namespace foretrain::experiments
