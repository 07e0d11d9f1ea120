"""Two ranks: reductions, messages round the ring, pickled objects, one-sided access, a shared file, a communicator."""
import os
from mpi4py import MPI
import numpy as np

world = MPI.COMM_WORLD
right, left = (world.rank + 1) % world.size, (world.rank - 1) % world.size
mine = np.full(4096, world.rank + 1, dtype="d")
theirs = np.empty_like(mine)
total = 0.0
for step in range(200):
    world.Allreduce(mine, theirs, op=MPI.SUM)
    total += theirs[0]
    request = world.Isend(mine, dest=right, tag=step)
    world.Recv(theirs, source=left, tag=step)
    request.Wait()
    total += theirs[-1]
names = world.allgather({"rank": world.rank, "padding": "x" * 500})
half = world.Split(world.rank % 2, world.rank)
half.Barrier()
half.Free()
window = MPI.Win.Allocate(8 * 1024, 8, comm=world)
window.Fence()
window.Put(mine[:1024], right)
window.Fence()
total += np.frombuffer(window.tomemory(), dtype="d")[7]
window.Free()
file = MPI.File.Open(world, "exchange.data", MPI.MODE_CREATE | MPI.MODE_RDWR)
file.Write_at_all(world.rank * mine.nbytes, mine)
file.Sync()
file.Read_at_all(right * mine.nbytes, theirs)
file.Close()
total += theirs[3]
if world.rank == 0:
    print("sum", total, [entry["rank"] for entry in names], os.path.getsize("exchange.data"))
