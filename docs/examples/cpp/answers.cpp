// Every question from C++: answers COMMAND FILE [FILE], with the JSON that the command prints,
// after a line from its numbers.
#include <foretrain/foretrain.hpp>

#include <iostream>
#include <string>

namespace api = foretrain::api;

namespace {

std::string explained(const api::Experiment& experiment)
{
  const auto answer = experiment.explain();
  for (const auto& job : answer.jobs)
    if (job.limited_by)
      std::cerr << job.name << ": " << job.limited_by->doubled << " would bring "
                << 100 * job.limited_by->gain_if_doubled << " %\n";
  return answer.json;
}

std::string compared(const api::Experiment& a, const api::Experiment& b)
{
  const auto answer = a.compare(b);
  for (const auto& job : answer.jobs)
    std::cerr << job.name << ": " << job.ratio.median << " times as fast\n";
  return answer.json;
}

std::string tuned(const api::Experiment& experiment)
{
  const auto answer = experiment.tune();
  if (!answer.plans.empty())
    std::cerr << answer.plans.front().tokens_per_s.median << " tokens/s\n";
  return answer.json;
}

std::string decided(const api::Plan& plan)
{
  const auto answer = plan.decide();
  if (answer.recommended)
    std::cerr << "for " << answer.candidates[*answer.recommended].cost << "\n";
  return answer.json;
}

std::string simulated(const api::Fleet& fleet)
{
  const auto answer = fleet.simulate();
  for (const auto& point : answer.points)
    std::cerr << point.completed << " of " << point.submitted << " jobs\n";
  return answer.json;
}

} // namespace

int main(int argc, char** argv)
{
  if (argc < 3)
    return 2;
  const std::string command = argv[1];
  const std::string file = argv[2];
  try {
    const auto experiment = api::Experiment::load(file);
    std::cout << (command == "explain" ? explained(experiment)
                  : command == "compare"
                      ? compared(experiment, api::Experiment::load(argv[argc - 1]))
                  : command == "tune"  ? tuned(experiment)
                  : command == "plan"  ? decided(api::Plan::load(file))
                  : command == "fleet" ? simulated(api::Fleet::load(file))
                                       : experiment.predict().json)
              << "\n";
    return 0;
  } catch (const api::Error& error) {
    std::cerr << error.what() << "\n";
    return 2;
  }
}
