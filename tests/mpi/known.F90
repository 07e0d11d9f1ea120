! The known program in Fortran, the same calls as known.c in the same order.
! -DUSE_MPIFH: include 'mpif.h'; -DUSE_F08: use mpi_f08; otherwise: use mpi.
#ifdef USE_F08
#define HANDLE(kind) type(kind)
#else
#define HANDLE(kind) integer
#endif
module known_calls
#ifdef USE_F08
  use mpi_f08
#elif !defined(USE_MPIFH)
  use mpi
#endif
  implicit none
#ifdef USE_MPIFH
  include 'mpif.h'
#endif
  integer :: me, ranks, left, right, ierr
contains
  subroutine check(condition, line)
    logical, intent(in) :: condition
    integer, intent(in) :: line
    if (condition) return
    write (0, *) 'known.F90: wrong result, line', line
    call MPI_Abort(MPI_COMM_WORLD, 1, ierr)
  end subroutine check

  subroutine send_and_receive()
    integer :: out(100), in(100), i, k, received
#ifdef USE_F08
    type(MPI_Status) :: status
#else
    integer :: status(MPI_STATUS_SIZE)
#endif
    do i = 0, 9
      out(1:25) = [(me + i + k, k=0, 24)]
      if (mod(me, 2) == 0) call MPI_Send(out, 25, MPI_INTEGER, right, 7, MPI_COMM_WORLD, ierr)
      call MPI_Recv(in, 25, MPI_INTEGER, left, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
      if (mod(me, 2) == 1) call MPI_Send(out, 25, MPI_INTEGER, right, 7, MPI_COMM_WORLD, ierr)
      call check(in(25) == left + i + 24, __LINE__)
    end do
    if (mod(me, 2) == 0) call MPI_Send(out, 3, MPI_INTEGER, right, 9, MPI_COMM_WORLD, ierr)
    call MPI_Recv(in, 100, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, status, ierr)
    if (mod(me, 2) == 1) call MPI_Send(out, 3, MPI_INTEGER, right, 9, MPI_COMM_WORLD, ierr)
    call MPI_Get_count(status, MPI_INTEGER, received, ierr)
    call check(received == 3, __LINE__)
  end subroutine send_and_receive

  subroutine nonblocking()
    double precision, asynchronous :: out(1000), in(1000)
    HANDLE(MPI_Request) :: requests(4), none
    integer :: i, index
    logical :: flag
    do i = 0, 4
      out(1000) = me + i
      call MPI_Irecv(in, 1000, MPI_DOUBLE_PRECISION, left, i, MPI_COMM_WORLD, requests(1), ierr)
      call MPI_Isend(out, 1000, MPI_DOUBLE_PRECISION, right, i, MPI_COMM_WORLD, requests(2), ierr)
      call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierr)
      call check(in(1000) == left + i, __LINE__)
    end do
    do i = 0, 2
      call MPI_Irecv(in, 1, MPI_BYTE, MPI_ANY_SOURCE, i, MPI_COMM_WORLD, requests(1), ierr)
      call MPI_Isend(out, 1, MPI_BYTE, right, i, MPI_COMM_WORLD, requests(2), ierr)
      call MPI_Wait(requests(1), MPI_STATUS_IGNORE, ierr)
      call MPI_Wait(requests(2), MPI_STATUS_IGNORE, ierr)
    end do
    do i = 0, 1
      call MPI_Irecv(in(50*i + 1), 50, MPI_DOUBLE_PRECISION, left, 20 + i, MPI_COMM_WORLD, requests(1 + i), ierr)
      call MPI_Isend(out, 50, MPI_DOUBLE_PRECISION, right, 20 + i, MPI_COMM_WORLD, requests(3 + i), ierr)
    end do
    do i = 1, 4
      call MPI_Waitany(4, requests, index, MPI_STATUS_IGNORE, ierr)
      call check(index <= 4, __LINE__)  ! MPICH 4.0 counts from 0 here in mpi_f08
    end do
    do i = 1, 7
      none = MPI_REQUEST_NULL
      flag = .false.
      call MPI_Test(none, flag, MPI_STATUS_IGNORE, ierr)
      call check(flag, __LINE__)
    end do
  end subroutine nonblocking

  subroutine sendrecv()
    integer :: out(10), in(10), i
    out = me
    in = -1
    do i = 1, 4
      call MPI_Sendrecv(out, 10, MPI_INTEGER, right, 3, in, 10, MPI_INTEGER, left, 3, MPI_COMM_WORLD, &
                        MPI_STATUS_IGNORE, ierr)
    end do
    call check(in(1) == left, __LINE__)
    do i = 1, 2
      call MPI_Sendrecv(out, 10, MPI_INTEGER, MPI_PROC_NULL, 3, in, 10, MPI_INTEGER, MPI_PROC_NULL, 3, &
                        MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    end do
  end subroutine sendrecv

  subroutine derived_types()
    double precision :: out(60), in(60)
    HANDLE(MPI_Datatype) :: newtype
    integer :: round, count
    out = 0
    do round = 0, 1
      count = 1 + round
      if (round == 0) then
        call MPI_Type_vector(10, 2, 5, MPI_DOUBLE_PRECISION, newtype, ierr)
      else
        call MPI_Type_contiguous(3, MPI_INTEGER, newtype, ierr)
      end if
      call MPI_Type_commit(newtype, ierr)
      if (mod(me, 2) == 0) call MPI_Send(out, count, newtype, right, 4, MPI_COMM_WORLD, ierr)
      call MPI_Recv(in, count, newtype, left, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
      if (mod(me, 2) == 1) call MPI_Send(out, count, newtype, right, 4, MPI_COMM_WORLD, ierr)
      call MPI_Type_free(newtype, ierr)
    end do
  end subroutine derived_types

  subroutine collectives()
    integer :: ints(200), more(200), counts(2), offsets(2), i
    double precision :: x(10), y(10)
    ints = 0
    x = 1
    y = 0
    do i = 1, 3
      call MPI_Barrier(MPI_COMM_WORLD, ierr)
    end do
    if (me == 0) ints(100) = 42
    call MPI_Bcast(ints, 100, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
    call check(ints(100) == 42, __LINE__)
    call MPI_Reduce(x, y, 10, MPI_DOUBLE_PRECISION, MPI_SUM, 0, MPI_COMM_WORLD, ierr)
    do i = 1, 5
      call MPI_Allreduce(x, y, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierr)
    end do
    call check(y(1) == ranks, __LINE__)
    call MPI_Allreduce(MPI_IN_PLACE, y, 2, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierr)
    call MPI_Gather(ints, 4, MPI_INTEGER, more, 4, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
    if (me == 1) then
      call MPI_Gather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, more, 4, MPI_INTEGER, 1, MPI_COMM_WORLD, ierr)
    else
      call MPI_Gather(ints, 4, MPI_INTEGER, more, 0, MPI_DATATYPE_NULL, 1, MPI_COMM_WORLD, ierr)
    end if
    call MPI_Allgather(ints, 4, MPI_INTEGER, more, 4, MPI_INTEGER, MPI_COMM_WORLD, ierr)
    if (me == 0) then
      call MPI_Scatter(ints, 6, MPI_INTEGER, more, 6, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
    else
      call MPI_Scatter(ints, 0, MPI_DATATYPE_NULL, more, 6, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
    end if
    call MPI_Alltoall(ints, 3, MPI_INTEGER, more, 3, MPI_INTEGER, MPI_COMM_WORLD, ierr)
    counts = [me + 1, me + 2]
    offsets = [0, 10]
    call MPI_Alltoallv(ints, counts, offsets, MPI_INTEGER, more, counts, offsets, MPI_INTEGER, MPI_COMM_WORLD, ierr)
  end subroutine collectives

  subroutine communicators()
    HANDLE(MPI_Comm) :: turned, copy, half, line
    HANDLE(MPI_Group) :: all, first
    integer :: number, buffer(5), color, lengths(1), zero(1)
    logical :: periodic(1)
    double precision :: x, y
    buffer = me
    x = 1
    call MPI_Comm_split(MPI_COMM_WORLD, 0, -me, turned, ierr)
    call MPI_Comm_rank(turned, number, ierr)
    call check(number == ranks - 1 - me, __LINE__)
    if (number == 0) call MPI_Send(buffer, 5, MPI_INTEGER, 1, 5, turned, ierr)
    if (number == 1) call MPI_Recv(buffer, 5, MPI_INTEGER, 0, 5, turned, MPI_STATUS_IGNORE, ierr)
    call MPI_Comm_dup(turned, copy, ierr)
    call MPI_Allreduce(x, y, 1, MPI_DOUBLE_PRECISION, MPI_SUM, copy, ierr)
    call MPI_Comm_free(copy, ierr)
    call MPI_Comm_free(turned, ierr)
    color = MPI_UNDEFINED
    if (me == 0) color = 1
    call MPI_Comm_split(MPI_COMM_WORLD, color, 0, half, ierr)
    call check((half == MPI_COMM_NULL) .eqv. (me /= 0), __LINE__)
    if (half /= MPI_COMM_NULL) call MPI_Comm_free(half, ierr)
    call MPI_Comm_group(MPI_COMM_WORLD, all, ierr)
    zero = 0
    call MPI_Group_incl(all, 1, zero, first, ierr)
    call MPI_Comm_create(MPI_COMM_WORLD, first, half, ierr)
    if (half /= MPI_COMM_NULL) then
      call MPI_Bcast(buffer, 2, MPI_INTEGER, 0, half, ierr)
      call MPI_Comm_free(half, ierr)
    end if
    call MPI_Group_free(first, ierr)
    call MPI_Group_free(all, ierr)
    lengths = ranks
    periodic = .true.
    call MPI_Cart_create(MPI_COMM_WORLD, 1, lengths, periodic, .false., line, ierr)
    call MPI_Sendrecv(buffer, 2, MPI_INTEGER, right, 6, buffer(3), 2, MPI_INTEGER, left, 6, line, &
                      MPI_STATUS_IGNORE, ierr)
    call MPI_Comm_free(line, ierr)
  end subroutine communicators
end module known_calls

program known
  use known_calls
  implicit none
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  call check(ranks == 2, __LINE__)
  left = mod(me + ranks - 1, ranks)
  right = mod(me + 1, ranks)
  call send_and_receive()
  call nonblocking()
  call sendrecv()
  call derived_types()
  call collectives()
  call communicators()
  if (me == 0) print '(a)', 'OK known'
  flush (6)
  call MPI_Finalize(ierr)
end program known
