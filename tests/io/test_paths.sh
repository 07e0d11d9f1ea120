#!/bin/bash
# What is recorded by its path, and whose sockets are. Python's own files are not the profile's (E14); settings exclude
# and include, the longest name counts; the sockets of a thread that an MPI library started are MPI's.
. "$(dirname "$0")/io_lib.sh"
[ -x "$ring_dump" ] || { echo "no $ring_dump (make check-programs)"; exit 1; }

files() { "$ring_dump" "$spool" | awk '$NF != "-" { print $NF }' | sort -u; }

python=/usr/bin/python3
[ -x $python ] || python=python3
if command -v $python >/dev/null; then
  recorded "$at_once" $python -I -c 'import json; print("hello")'
  [ "$(cat "$work/out")" = hello ] && ok || bad "python: $(cat "$work/err")"
  count=$(files | wc -l)
  [ "$count" -gt 0 ] && [ "$count" -lt 20 ] && ok || bad "python: $count files: $(files | head -n 30)"
  files | grep -E '\.(so|py|pyc)$|^/proc' && bad "python: its own code is in the profile" || ok
else
  echo "no python3: left out"
fi

cat >"$work/opens.c" <<'C'
#include <fcntl.h>
#include <unistd.h>
int main(int count, char **names) {
  for (int i = 1; i < count; i++) {
    int fd = open(names[i], O_RDONLY);
    char byte;
    if (fd >= 0 && read(fd, &byte, 1) >= 0) close(fd);
  }
  return 0;
}
C
$compiler -O2 -w -o "$work/opens" "$work/opens.c" || exit 1
tree=$work/tree
mkdir -p "$tree/s/kept" "$tree/scratch"
for name in s/out s/kept/in scratch/in lib.so.1; do echo x >"$tree/$name"; done
recorded "$at_once,io_exclude=$tree/s,io_include=$tree/s/kept+/proc/self/stat" "$work/opens" \
  "$tree/s/out" "$tree/s/kept/in" "$tree/scratch/in" "$tree/lib.so.1" /proc/self/stat /proc/self/status
wanted=$(printf '%s\n' /proc/self/stat "$tree/s/kept/in" "$tree/scratch/in" | sort)
[ "$(files | sed 's|^/proc/[0-9]*/|/proc/self/|')" = "$wanted" ] && ok || bad "rules: $(files | tr '\n' ' ')"

# Two threads talk through sockets: one of the application, one that begins in a library of an MPI's name.
cat >"$work/talk.c" <<'C'
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>
static void *talk(void *count) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) return NULL;
  char byte = 0;
  for (long i = 0; i < (long)count; i++)
    if (write(pair[0], &byte, 1) != 1 || read(pair[1], &byte, 1) != 1) return NULL;
  return NULL;
}
void TALK(long count) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, talk, (void *)count) == 0) pthread_join(thread, NULL);
}
C
printf '%s\n' '#include <mpi.h>' 'void talk_here(long); void talk_there(long);' \
  'int main(int n, char **v) { MPI_Init(&n, &v); talk_here(50); talk_there(700); return MPI_Finalize(); }' >"$work/host.c"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
for mpi in openmpi mpich; do
  command -v mpicc.$mpi >/dev/null || { echo "no mpicc.$mpi: left out"; continue; }
  $compiler -shared -fPIC -pthread -DTALK=talk_there -o "$work/libpmix_talk.so" "$work/talk.c" &&
    mpicc.$mpi -O2 -pthread -DTALK=talk_here -o "$work/host" "$work/host.c" "$work/talk.c" "$work/libpmix_talk.so" -Wl,-rpath,"$work" || exit 1
  recorded "$at_once" "$work/host" || bad "$mpi: exit $?: $(cat "$work/err")"
  got=$("$ring_dump" "$spool" | grep -cE ' (read|write)\(socket\) .* ok unix:$')
  [ "$got" = 100 ] && ok || bad "$mpi: $got calls on sockets instead of 100"
  others=$("$ring_dump" "$spool" | grep -E ' ok (tcp|udp):')
  [ -z "$others" ] && ok || bad "$mpi: its own sockets: $(head -n 5 <<<"$others")"
done
finish
