! MPI calls of a Fortran program from known lines: 4 reductions in halo(), called by relax(). Two ranks.
! -DUSE_F08: mpi_f08 instead of use mpi.
module solver
#ifdef USE_F08
  use mpi_f08
#else
  use mpi
#endif
  implicit none
  integer :: last_error
contains
  subroutine halo(times)
    integer, intent(in) :: times
    integer :: i, mine, all, error
    mine = times
    do i = 1, times
      call MPI_Allreduce(mine, all, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error) ! LINE MPI_Allreduce
    end do
    if (all /= 2 * times) error stop
  end subroutine halo

  subroutine relax()
    call halo(4) ! LINE relax
    call MPI_Barrier(MPI_COMM_WORLD, last_error)
  end subroutine relax
end module solver

program sites
  use solver
  implicit none
  integer :: error
  call MPI_Init(error)
  call relax()
  call MPI_Finalize(error)
end program sites
