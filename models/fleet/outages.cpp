#include "models/fleet/outages.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include <boost/math/special_functions/gamma.hpp>

namespace foretrain::models::fleet {

namespace {

// One thing that fails again and again.
struct Renewal {
  FailureClass law;
  double mean_scale; // lemons fail more often
  int first, nodes, gpu;
  sim::RandomStream stream;
  Outage next{};

  void draw_first() { draw_at(draw_first_gap(law, mean_scale, stream)); }
  void draw_next() { draw_at(next.repaired + draw_gap(law, mean_scale, stream)); }

private:
  void draw_at(Seconds time)
  {
    next.time = time;
    next.first = first;
    next.nodes = nodes;
    next.hits = law.hits;
    next.gpu = gpu;
    next.repaired = next.time + law.repair.draw(stream);
    next.drained = law.drained > 0 && stream.uniform() < law.drained;
  }
};

struct FailsLater {
  bool operator()(const Renewal* a, const Renewal* b) const { return a->next.time > b->next.time; }
};

class DrawnOutages {
public:
  DrawnOutages(const std::vector<FailureClass>& classes, const ClusterShape& shape,
               std::uint64_t seed)
  {
    for (std::size_t c = 0; c < classes.size(); ++c)
      add(classes[c], shape, seed, "fleet failures " + std::to_string(c));
    for (const auto& renewal : all_) {
      renewal->draw_first();
      queue_.push(renewal.get());
    }
  }

  std::optional<Outage> next()
  {
    if (queue_.empty())
      return {};
    Renewal* renewal = queue_.top();
    queue_.pop();
    const Outage outage = renewal->next;
    renewal->draw_next();
    queue_.push(renewal);
    return outage;
  }

private:
  void add(const FailureClass& law, const ClusterShape& shape, std::uint64_t seed,
           const std::string& stream)
  {
    const int nodes = shape.nodes;
    const int gpus = law.hits == Hits::gpu ? shape.gpus_per_node : 1; // of a node, by themselves
    const int things =
        law.hits == Hits::storage ? 1 : gpus * ((nodes + law.nodes_each - 1) / law.nodes_each);
    const int lemons = static_cast<int>(std::lround(law.lemons * things));
    for (int i = 0; i < things; ++i) {
      double rate = 1; // in units of the mean one
      if (lemons > 0 && lemons < things)
        rate = i < lemons ? law.lemon_share * things / lemons
                          : (1 - law.lemon_share) * things / (things - lemons);
      const int first = i / gpus * law.nodes_each;
      all_.push_back(std::make_unique<Renewal>(
          Renewal{law, 1 / rate, first, std::min(law.nodes_each, nodes - first), i % gpus,
                  sim::RandomStream(seed, stream, static_cast<std::uint64_t>(i))}));
    }
  }

  std::vector<std::unique_ptr<Renewal>> all_;
  std::priority_queue<Renewal*, std::vector<Renewal*>, FailsLater> queue_;
};

} // namespace

OutageSource outages_of(std::vector<Outage> trace)
{
  std::stable_sort(trace.begin(), trace.end(),
                   [](const Outage& a, const Outage& b) { return a.time < b.time; });
  return [trace = std::move(trace), i = std::size_t{0}]() mutable -> std::optional<Outage> {
    return i < trace.size() ? std::optional(trace[i++]) : std::nullopt;
  };
}

Seconds RepairLaw::draw(sim::RandomStream& stream) const
{
  const double variance = 2 * std::log(mean / median);
  return Seconds(median.value() * std::exp(std::sqrt(variance) * stream.normal()));
}

namespace {

Seconds weibull_scale(const FailureClass& failures, double mean_scale)
{
  return mean_scale / std::tgamma(1 + 1 / failures.shape) * failures.mean_time;
}

} // namespace

Seconds draw_gap(const FailureClass& failures, double mean_scale, sim::RandomStream& stream)
{
  const double exponential = -std::log1p(-stream.uniform());
  if (failures.law == FailureLaw::exponential)
    return mean_scale * exponential * failures.mean_time;
  return std::pow(exponential, 1 / failures.shape) * weibull_scale(failures, mean_scale);
}

Seconds draw_first_gap(const FailureClass& failures, double mean_scale, sim::RandomStream& stream)
{
  if (failures.law == FailureLaw::exponential) // has no memory
    return draw_gap(failures, mean_scale, stream);
  const double power = boost::math::gamma_p_inv(1 / failures.shape, stream.uniform());
  return std::pow(power, 1 / failures.shape) * weibull_scale(failures, mean_scale);
}

OutageSource draw_outages(const std::vector<FailureClass>& classes, const ClusterShape& shape,
                          std::uint64_t seed)
{
  const auto drawn = std::make_shared<DrawnOutages>(classes, shape, seed);
  return [drawn] { return drawn->next(); };
}

} // namespace foretrain::models::fleet
