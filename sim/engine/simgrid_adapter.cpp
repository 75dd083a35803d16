// The only door to SimGrid: clock, main loop, timers, and its network model as an oracle.
//
// SimGrid's engine is one per process and its clock never goes back, so a run subtracts the date at
// which it began. Our model is plugged in once and serves whichever run is under way. SimGrid's own
// network model multiplies latencies and shaves bandwidths to fit TCP; every correction is switched
// off, so that it is plain max-min. See docs/decisions/0001-simgrid.md.
#include "sim/engine/engine_impl.hpp"

#include <simgrid/kernel/Timer.hpp>
#include <simgrid/kernel/resource/Model.hpp>
#include <simgrid/s4u.hpp>

#include <signal.h>

#include <cmath>
#include <map>
#include <stdexcept>

namespace foretrain::sim::simgrid_adapter {

namespace sg4 = simgrid::s4u;

namespace {

Engine::Impl* current = nullptr; // the run under way; SimGrid's callbacks carry no context
double origin = 0;               // SimGrid's date at which it began

// SimGrid's own communications do not start inside its update.
void flush_soon(double simgrid_now)
{
  static bool armed = false;
  if (armed)
    return;
  armed = true;
  simgrid::kernel::timer::Timer::set(simgrid_now, [] {
    armed = false;
    current->flush();
  });
}

class FlowModel final : public simgrid::kernel::resource::Model {
public:
  FlowModel() : Model("foretrain flows") {}

  double next_occurring_event(double now) override
  {
    asked_ = current == nullptr ? -1.0 : current->next_date();
    return asked_ < 0 ? -1.0 : std::max(0.0, asked_ + origin - now);
  }

  void update_actions_state(double now, double) override
  {
    if (current == nullptr)
      return;
    // SimGrid adds up deltas; the date we asked for is the exact one.
    const double reached = now - origin;
    const bool as_asked = asked_ >= 0 && std::abs(reached - asked_) <= 1e-12 * std::max(1.0, now);
    current->advance(as_asked ? asked_ : std::max(reached, current->now));
    if (!current->native())
      current->run_date();
    else if (current->has_ready())
      flush_soon(now);
  }

private:
  double asked_ = -1;
};

std::vector<sg4::ActivityPtr> ended; // a completion callback must not drop the last reference

void on_native_end(const sg4::Activity& activity)
{
  if (current == nullptr)
    return;
  ended.emplace_back(const_cast<sg4::Activity*>(&activity), false);
  const auto slot = static_cast<int>(reinterpret_cast<std::intptr_t>(activity.get_data<void>()));
  const double now = sg4::Engine::get_clock();
  current->native_ended(slot, now - origin);
  flush_soon(now);
}

sg4::Engine& engine()
{
  static sg4::Engine* const instance = [] {
    static std::string program = "foretrain";
    static std::string quiet = "--log=root.thres:error";
    static char* arguments[] = {program.data(), quiet.data(), nullptr};
    static int count = 2;
    // SimGrid takes Ctrl-C for itself, and then ends with 1: it stays whose it was.
    struct sigaction interrupt = {};
    sigaction(SIGINT, nullptr, &interrupt);
    auto* e = new sg4::Engine(&count, arguments); // SimGrid keeps it until the process ends
    sigaction(SIGINT, &interrupt, nullptr);
    sg4::Engine::set_config("network/model:CM02");
    sg4::Engine::set_config("network/crosstraffic:no");
    sg4::Engine::set_config("network/TCP-gamma:0");
    e->add_model(std::make_shared<FlowModel>());
    sg4::Activity::on_completion_cb(on_native_end);
    sg4::Engine::on_time_advance_cb([](double) { ended.clear(); });
    return e;
  }();
  return *instance;
}

// SimGrid counts whole bytes: everything is blown up so that rounding disappears.
constexpr double kNativeScale = 1e6;

using Ends = std::pair<sg4::Host*, sg4::Host*>;
std::map<const Path*, Ends> routes;

// Each path becomes a pair of hosts whose route lists a link as often as its weight says. A cap is
// a link that does not share (set_rate is ignored on host-to-host communications).
void build_native(Engine::Impl& impl, sg4::NetZone& zone)
{
  std::vector<sg4::Link*> links;
  for (std::size_t r = 0; r < impl.resources.size(); ++r)
    links.push_back(zone.create_link("r" + std::to_string(r),
                                     kNativeScale * impl.solver.capacity(static_cast<int>(r))));
  for (const PathPtr& path : impl.declared) {
    if (routes.count(path.get()) > 0)
      continue;
    const std::string id = std::to_string(routes.size());
    std::vector<sg4::LinkInRoute> route;
    for (const Use& use : path->uses) {
      const double times = std::round(use.weight);
      if (std::abs(times - use.weight) > 1e-12 || times > 64)
        throw std::logic_error("native sharing needs small whole-number weights");
      for (int i = 0; i < static_cast<int>(times); ++i)
        route.emplace_back(links[static_cast<std::size_t>(use.resource)]);
    }
    if (path->cap > 0) {
      auto* cap = zone.create_link("cap" + id, kNativeScale * path->cap);
      cap->set_sharing_policy(sg4::Link::SharingPolicy::FATPIPE);
      route.emplace_back(cap);
    }
    Ends ends{zone.create_host("from" + id, 1.0), zone.create_host("to" + id, 1.0)};
    zone.add_route(ends.first->get_netpoint(), ends.second->get_netpoint(), nullptr, nullptr, route,
                   false);
    routes[path.get()] = ends;
  }
}

void build(Engine::Impl& impl)
{
  static bool built = false;
  engine();
  if (built) {
    if (impl.native())
      throw std::logic_error("native sharing works once per process: SimGrid seals its platform");
    return;
  }
  built = true;
  auto* zone = sg4::create_full_zone("zone");
  zone->create_host("host", 1.0);
  if (impl.native())
    build_native(impl, *zone);
  zone->seal();
}

} // namespace

void start_native(Engine::Impl& impl, int slot)
{
  const auto& flow = impl.slot(slot);
  const Ends ends = routes.at(flow.spec.path.get());
  auto comm = sg4::Comm::sendto_init(ends.first, ends.second);
  comm->set_payload_size(static_cast<std::uint64_t>(std::llround(kNativeScale * flow.spec.amount)));
  comm->set_data(reinterpret_cast<void*>(static_cast<std::intptr_t>(slot)));
  comm->add_ref(); // nobody else holds it; on_native_end takes this reference over
  comm->start();
}

void run(Engine::Impl& impl)
{
  build(impl);
  current = &impl;
  origin = sg4::Engine::get_clock() - impl.now;
  try {
    engine().run();
  } catch (...) {
    current = nullptr;
    throw;
  }
  current = nullptr;
}

} // namespace foretrain::sim::simgrid_adapter
