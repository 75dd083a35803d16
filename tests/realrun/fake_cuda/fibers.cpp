// The threads of an emulated block: fibers that take turns from one __syncthreads() to the next.
#include "tests/realrun/fake_cuda/emulate.hpp"

#include <ucontext.h>

#include <stdexcept>
#include <vector>

namespace foretrain::realrun::fake {

namespace {

constexpr std::size_t kStack = 64 * 1024;

struct Fiber {
  ucontext_t context{};
  std::vector<char> stack = std::vector<char>(kStack);
  bool ended = false;
};

std::vector<Fiber> fibers;
ucontext_t scheduler;
std::size_t current = 0;
const std::function<void()>* work = nullptr;

void run_fiber()
{
  (*work)();
  fibers[current].ended = true;
}

} // namespace

void run_block(unsigned threads, const std::function<void()>& body)
{
  work = &body;
  if (fibers.size() < threads)
    fibers.resize(threads);
  for (std::size_t i = 0; i < threads; ++i) {
    Fiber& fiber = fibers[i];
    fiber.ended = false;
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.data();
    fiber.context.uc_stack.ss_size = fiber.stack.size();
    fiber.context.uc_link = &scheduler;
    makecontext(&fiber.context, &run_fiber, 0);
  }
  for (std::size_t alive = threads; alive > 0;) {
    std::size_t ended = 0;
    for (current = 0; current < threads; ++current) {
      if (fibers[current].ended)
        continue;
      threadIdx.x = static_cast<unsigned>(current);
      swapcontext(&scheduler, &fibers[current].context);
      ended += fibers[current].ended ? 1U : 0U;
    }
    if (ended != 0 && ended != alive)
      throw std::logic_error("some threads of a block ended while others wait at __syncthreads()");
    alive -= ended;
  }
}

} // namespace foretrain::realrun::fake

void __syncthreads()
{
  using namespace foretrain::realrun::fake;
  swapcontext(&fibers[current].context, &scheduler);
}
