#include "experiments/cli/commands.hpp"

int main(int argc, char** argv)
{
  return foretrain::cli::run(argc, argv);
}
