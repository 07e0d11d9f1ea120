! What only Fortran has: sentinels for arguments, blank-padded texts, LOGICAL, call-backs; 2 ranks.
! -DUSE_MPIFH: include 'mpif.h'; -DUSE_F08: use mpi_f08; otherwise: use mpi. usage: sentinels FILE
! What it does is in sentinels.json. Prints "OK sentinels" on rank 0 if all data arrived right.
#ifdef USE_F08
#define HANDLE(kind) type(kind)
#else
#define HANDLE(kind) integer
#endif
module sentinel_calls
#ifdef USE_F08
  use mpi_f08
#elif !defined(USE_MPIFH)
  use mpi
#endif
  implicit none
#ifdef USE_MPIFH
  include 'mpif.h'
#endif
  integer :: me, other, ierr
contains
  subroutine check(condition, line)
    logical, intent(in) :: condition
    integer, intent(in) :: line
    if (condition) return
    write (0, *) 'sentinels.F90: wrong result, line', line
    call MPI_Abort(MPI_COMM_WORLD, 1, ierr)
  end subroutine check

  subroutine in_place()
    integer :: numbers(4), all(6)
    double precision :: largest
    logical :: any
    numbers = me + 1
    call MPI_Allreduce(MPI_IN_PLACE, numbers, 4, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
    call check(all_equal(numbers, 3), __LINE__)
    largest = me
    call MPI_Allreduce(MPI_IN_PLACE, largest, 1, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD, ierr)
    call check(largest == 1, __LINE__)
    any = me == 1
    call MPI_Allreduce(MPI_IN_PLACE, any, 1, MPI_LOGICAL, MPI_LOR, MPI_COMM_WORLD, ierr)
    call check(any, __LINE__)
    all = me + 10
    if (me == 0) then
      call MPI_Gather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, 3, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
      call check(all(3) == 10 .and. all(4) == 11, __LINE__)
    else
      call MPI_Gather(all, 3, MPI_INTEGER, all, 0, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD, ierr)
    end if
  end subroutine in_place

  pure logical function all_equal(numbers, value)
    integer, intent(in) :: numbers(:), value
    all_equal = count(numbers == value) == size(numbers)
  end function all_equal

  subroutine from_bottom()
    integer, asynchronous, target, save :: number
    integer(kind=MPI_ADDRESS_KIND) :: place(1)
    integer :: lengths(1)
    HANDLE(MPI_Datatype) :: absolute
    number = -1
    if (me == 0) number = 815
    call MPI_Get_address(number, place(1), ierr)
    lengths(1) = 1
    call MPI_Type_create_hindexed(1, lengths, place, MPI_INTEGER, absolute, ierr)
    call MPI_Type_commit(absolute, ierr)
    call MPI_Bcast(MPI_BOTTOM, 1, absolute, 0, MPI_COMM_WORLD, ierr)
    call check(number == 815, __LINE__)
    call MPI_Type_free(absolute, ierr)
  end subroutine from_bottom

  subroutine without_status()
    integer, asynchronous :: out(8), in(8)
    HANDLE(MPI_Request) :: requests(4)
    integer :: got
    call MPI_Sendrecv(me, 1, MPI_INTEGER, other, 5, got, 1, MPI_INTEGER, other, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    call check(got == other, __LINE__)
    out = me
    in = -1
    call MPI_Irecv(in(1), 4, MPI_INTEGER, other, 6, MPI_COMM_WORLD, requests(1), ierr)
    call MPI_Irecv(in(5), 4, MPI_INTEGER, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, requests(2), ierr)
    call MPI_Isend(out(1), 4, MPI_INTEGER, other, 6, MPI_COMM_WORLD, requests(3), ierr)
    call MPI_Isend(out(5), 4, MPI_INTEGER, other, 7, MPI_COMM_WORLD, requests(4), ierr)
    call MPI_Waitall(4, requests, MPI_STATUSES_IGNORE, ierr)
    call check(requests(1) == MPI_REQUEST_NULL .and. requests(4) == MPI_REQUEST_NULL, __LINE__)
    call check(all_equal(in, other), __LINE__)
  end subroutine without_status

  subroutine unweighted()
    integer :: neighbors(1), out(2), in(2)
    HANDLE(MPI_Comm) :: graph
    neighbors(1) = other
    call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, neighbors, MPI_UNWEIGHTED, 1, neighbors, MPI_UNWEIGHTED, &
                                        MPI_INFO_NULL, .false., graph, ierr)
    out = me
    call MPI_Neighbor_allgather(out, 2, MPI_INTEGER, in, 2, MPI_INTEGER, graph, ierr)
    call check(all_equal(in, other), __LINE__)
    call MPI_Comm_free(graph, ierr)
  end subroutine unweighted

  subroutine texts(path)
    character(len=*), intent(in) :: path
    character(len=200) :: padded
    character(len=MPI_MAX_OBJECT_NAME) :: name
    character(len=MPI_MAX_PROCESSOR_NAME) :: host
    character(len=MPI_MAX_ERROR_STRING) :: reason
    HANDLE(MPI_File) :: file
    integer(kind=MPI_OFFSET_KIND) :: place
    integer :: length, numbers(2)
    logical :: there
    call MPI_Comm_set_name(MPI_COMM_WORLD, 'a  name   ', ierr)
    name = 'x'
    call MPI_Comm_get_name(MPI_COMM_WORLD, name, length, ierr)
    call check(length == 7 .and. name == 'a  name', __LINE__)
    host = ' '
    call MPI_Get_processor_name(host, length, ierr)
    call check(length > 0 .and. len_trim(host) == length, __LINE__)
    call MPI_Error_string(MPI_ERR_RANK, reason, length, ierr)
    call check(length > 0 .and. len_trim(reason) == length, __LINE__)
    padded = path
    call MPI_File_open(MPI_COMM_WORLD, padded, MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, file, ierr)
    call check(ierr == MPI_SUCCESS, __LINE__)
    numbers = me
    place = 8*me
    call MPI_File_write_at(file, place, numbers, 2, MPI_INTEGER, MPI_STATUS_IGNORE, ierr)
    call MPI_File_close(file, ierr)
    inquire (file=path, exist=there)
    call check(there, __LINE__)
  end subroutine texts

#ifndef USE_F08
  ! The copy of an attribute is one more than the attribute.
  subroutine copy_number(old, keyval, extra, before, after, flag, error)
    integer :: old, keyval, error
    integer(kind=MPI_ADDRESS_KIND) :: extra, before, after
    logical :: flag
    after = before + extra
    flag = .true.
    error = MPI_SUCCESS
  end subroutine copy_number

  subroutine larger_half(in, inout, length, kind)
    integer :: length, kind, in(length), inout(length), i
    do i = 1, length
      inout(i) = max(in(i), inout(i))/2
    end do
  end subroutine larger_half
#else
  subroutine copy_number(old, keyval, extra, before, after, flag, error)
    type(MPI_Comm) :: old
    integer :: keyval, error
    integer(kind=MPI_ADDRESS_KIND) :: extra, before, after
    logical :: flag
    after = before + extra
    flag = .true.
    error = MPI_SUCCESS
  end subroutine copy_number

  subroutine larger_half(in, inout, length, kind)
    use, intrinsic :: iso_c_binding
    type(c_ptr), value :: in, inout
    integer :: length, i
    type(MPI_Datatype) :: kind
    integer, pointer :: from(:), to(:)
    call c_f_pointer(in, from, [length])
    call c_f_pointer(inout, to, [length])
    do i = 1, length
      to(i) = max(from(i), to(i))/2
    end do
  end subroutine larger_half
#endif

  subroutine call_backs()
    HANDLE(MPI_Comm) :: copy
    HANDLE(MPI_Op) :: operation
    integer(kind=MPI_ADDRESS_KIND) :: number, extra
    integer :: key, in(3), out(3)
    logical :: there
    extra = 1
    number = 41
    call MPI_Comm_create_keyval(copy_number, MPI_COMM_NULL_DELETE_FN, key, extra, ierr)
    call MPI_Comm_set_attr(MPI_COMM_WORLD, key, number, ierr)
    call MPI_Comm_dup(MPI_COMM_WORLD, copy, ierr)
    call MPI_Comm_get_attr(copy, key, number, there, ierr)
    call check(there .and. number == 42, __LINE__)
    call MPI_Op_create(larger_half, .true., operation, ierr)
    in = 10 + 20*me
    call MPI_Allreduce(in, out, 3, MPI_INTEGER, operation, copy, ierr)
    call check(all_equal(out, 15), __LINE__)
    call MPI_Op_free(operation, ierr)
    call MPI_Comm_free(copy, ierr)
    call MPI_Comm_free_keyval(key, ierr)
  end subroutine call_backs
end module sentinel_calls

program sentinels
  use sentinel_calls
  implicit none
  character(len=150) :: path
  integer :: ranks
  logical :: flag
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  call check(ranks == 2, __LINE__)
  call MPI_Initialized(flag, ierr)
  call check(flag, __LINE__)
  other = 1 - me
  call get_command_argument(1, path)
  call in_place()
  call from_bottom()
  call without_status()
  call unweighted()
  call texts(trim(path))
  call call_backs()
  if (me == 0) print '(a)', 'OK sentinels'
  flush (6)
  call MPI_Finalize(ierr)
end program sentinels
