// The threads of an emulated block: fibers that take turns from one __syncthreads() to the next.
#include "tests/realrun/fake_cuda/emulate.hpp"

#include <boost/context/fiber.hpp>
#include <boost/context/pooled_fixedsize_stack.hpp>

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

namespace foretrain::realrun::fake {

namespace {

constexpr std::size_t kStack = 64 * 1024;

using boost::context::fiber;

boost::context::pooled_fixedsize_stack stacks(kStack);
fiber block; // what goes on when a thread waits

} // namespace

void run_block(unsigned threads, const std::function<void()>& body)
{
  std::vector<fiber> waiting;
  waiting.reserve(threads);
  for (unsigned i = 0; i < threads; ++i)
    waiting.emplace_back(std::allocator_arg, stacks, [&body](fiber&& caller) {
      block = std::move(caller);
      body();
      return std::move(block);
    });
  for (bool alive = true; alive;) {
    std::size_t ended = 0;
    for (unsigned i = 0; i < threads; ++i) {
      threadIdx.x = i;
      waiting[i] = std::move(waiting[i]).resume();
      ended += waiting[i] ? 0U : 1U;
    }
    if (ended != 0 && ended != threads)
      throw std::logic_error("some threads of a block ended while others wait at __syncthreads()");
    alive = ended == 0;
  }
}

} // namespace foretrain::realrun::fake

void __syncthreads()
{
  using foretrain::realrun::fake::block;
  block = std::move(block).resume();
}
