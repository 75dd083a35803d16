#include "realrun/cpu/ring.hpp"

namespace foretrain::realrun {

Ring::Ring(World& world)
    : rank_(static_cast<std::size_t>(world.rank())), size_(static_cast<std::size_t>(world.size())),
      timeout_s_(world.timeout_s())
{
  if (size_ == 1)
    return;
  const Listener listener("", 0);
  const auto places = world.all_gather(world.my_address() + " " + std::to_string(listener.port()));
  const std::size_t right = (rank_ + 1) % size_;
  const std::size_t left = (rank_ + size_ - 1) % size_;
  const std::size_t space = places[right].find(' ');
  right_ = connect_to(places[right].substr(0, space), std::stoi(places[right].substr(space + 1)),
                      timeout_s_, "rank " + std::to_string(right));
  left_ = listener.accept(timeout_s_, "rank " + std::to_string(left));
  left_.rename("rank " + std::to_string(left));
  world.barrier();
}

std::span<float> Ring::chunk(std::span<float> data, std::size_t index) const
{
  const std::size_t begin = index * data.size() / size_;
  const std::size_t end = (index + 1) * data.size() / size_;
  return data.subspan(begin, end - begin);
}

void Ring::step(std::span<float> data, std::size_t send_chunk, std::size_t receive_chunk,
                bool reduce)
{
  const std::span<float> out = chunk(data, send_chunk);
  const std::span<float> in = chunk(data, receive_chunk);
  arriving_.resize(in.size());
  float* landing = reduce ? arriving_.data() : in.data();
  std::size_t reduced = 0;
  exchange(right_, out.data(), out.size_bytes(), left_, landing, in.size_bytes(), timeout_s_,
           [&](std::size_t bytes) {
             if (!reduce)
               return;
             for (; (reduced + 1) * sizeof(float) <= bytes; ++reduced)
               in[reduced] += arriving_[reduced];
           });
}

void Ring::all_reduce(std::span<float> data)
{
  for (std::size_t i = 0; i + 1 < size_; ++i)
    step(data, (rank_ + size_ - i) % size_, (rank_ + 2 * size_ - i - 1) % size_, true);
  for (std::size_t i = 0; i + 1 < size_; ++i)
    step(data, (rank_ + 1 + size_ - i) % size_, (rank_ + size_ - i) % size_, false);
}

void Ring::shut_down() const
{
  right_.shut_down();
  left_.shut_down();
}

} // namespace foretrain::realrun
