#include "realrun/cuda/communicator.hpp"

#include "realrun/common/clock.hpp"

#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

namespace foretrain::realrun {

namespace {

void check_started(ncclResult_t result, const char* call)
{
  if (result != ncclSuccess && result != ncclInProgress)
    check(result, call, __FILE__, __LINE__);
}

} // namespace

Communicator::Communicator(World& world) : world_(world)
{
  if (world.size() == 1)
    return;
  ncclUniqueId id{};
  if (world.is_root())
    REALRUN_CHECK(ncclGetUniqueId(&id));
  const std::string text =
      world.broadcast(std::string(id.internal, id.internal + sizeof id.internal));
  std::memcpy(id.internal, text.data(), sizeof id.internal);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  check_started(ncclCommInitRankConfig(&comm_, world.size(), id, world.rank(), &config),
                "ncclCommInitRankConfig");
  settle("ncclCommInitRankConfig");
}

Communicator::~Communicator()
{
  abort();
}

void Communicator::abort() noexcept
{
  if (comm_ != nullptr)
    ncclCommAbort(std::exchange(comm_, nullptr));
}

void Communicator::settle(const char* call)
{
  const double deadline = now_s() + world_.timeout_s();
  for (;;) {
    ncclResult_t state = ncclSuccess;
    REALRUN_CHECK(ncclCommGetAsyncError(comm_, &state));
    if (state == ncclSuccess)
      return;
    try {
      check_started(state, call);
      world_.check_peers();
      if (now_s() > deadline)
        throw PeerError(std::string(call) + " did not end within the --timeout");
    } catch (...) {
      abort();
      throw;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

void Communicator::all_reduce(float* data, std::size_t count, const Stream& stream)
{
  check_started(ncclAllReduce(data, data, count, ncclFloat, ncclSum, comm_, stream.get()),
                "ncclAllReduce");
  settle("ncclAllReduce");
}

void Communicator::look_around(double waited_s)
{
  if (comm_ != nullptr)
    settle("NCCL");
  try {
    world_.check_peers();
    if (waited_s > world_.timeout_s())
      throw PeerError("the device did not finish its work within the --timeout; does a peer hang?");
  } catch (...) {
    abort();
    throw;
  }
}

void Communicator::wait(const Stream& stream)
{
  const double start = now_s();
  double looked = start;
  for (;;) {
    const cudaError_t state = cudaStreamQuery(stream.get());
    if (state == cudaSuccess)
      return;
    if (state != cudaErrorNotReady)
      check(state, "cudaStreamQuery", __FILE__, __LINE__);
    const double now = now_s();
    if (now - looked > 0.01) { // looking costs little, but not nothing
      looked = now;
      look_around(now - start);
    }
    std::this_thread::yield();
  }
}

} // namespace foretrain::realrun
