"""MPI from a language that opens the library for itself alone, as ctypes, Julia and R do; 2 ranks.

usage: python3 local.py LIBRARY
What it does is in local.py.json. Prints "OK local.py" on rank 0. (A12)
"""
import ctypes
import os
import sys

mpi = ctypes.CDLL(sys.argv[1], os.RTLD_NOW | os.RTLD_LOCAL)
if hasattr(mpi, "ompi_mpi_comm_world"):
    def handle(name):
        return ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(mpi, name)))
    world, number, add = handle("ompi_mpi_comm_world"), handle("ompi_mpi_int"), handle("ompi_mpi_op_sum")
else:
    world, number, add = ctypes.c_int(0x44000000), ctypes.c_int(0x4c000405), ctypes.c_int(0x58000003)


def call(name, *arguments):
    """One routine of MPI, which must succeed."""
    if getattr(mpi, name)(*arguments) != 0:
        sys.exit(name + " failed")


me, size, total = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
call("MPI_Init", None, None)
call("MPI_Comm_rank", world, ctypes.byref(me))
call("MPI_Comm_size", world, ctypes.byref(size))
for turn in range(8):
    mine = ctypes.c_int(me.value + turn)
    call("MPI_Allreduce", ctypes.byref(mine), ctypes.byref(total), 1, number, add, world)
    if total.value != 1 + 2 * turn or size.value != 2:
        sys.exit("wrong result")
call("PMPI_Barrier", world)
call("MPI_Finalize")
if me.value == 0:
    print("OK local.py", flush=True)
