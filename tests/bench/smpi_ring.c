/* All-reduce calls of one size, for SMPI: smpi.sh times this beside Foretrain's own. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv)
{
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int count = argc > 1 ? atoi(argv[1]) : 1 << 21;
  const int calls = argc > 2 ? atoi(argv[2]) : 1;
  float* buffer = SMPI_SHARED_MALLOC(sizeof(float) * (size_t)count);
  const double start = MPI_Wtime();
  for (int i = 0; i < calls; ++i)
    MPI_Allreduce(MPI_IN_PLACE, buffer, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0)
    printf("%.6g\n", (MPI_Wtime() - start) / calls);
  SMPI_SHARED_FREE(buffer);
  MPI_Finalize();
  return 0;
}
