// A program whose first I/O comes from a signal handler on the smallest stack that is usual: SIGSTKSZ was 8192 bytes, of
// which the kernel's frame takes up to half. Below it lies a page that cannot be touched.
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { kStack = 8192, kGuard = 4096 };

static void handle(int number) {
  (void)number;
  int file = open("from_handler", O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (file < 0 || write(file, "12345", 5) != 5 || close(file) != 0) _exit(3);
}

int main(void) {
  char *memory = mmap(NULL, kGuard + kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED || mprotect(memory, kGuard, PROT_NONE) != 0) return 1;
  stack_t stack = {.ss_sp = memory + kGuard, .ss_size = kStack};
  struct sigaction action = {.sa_handler = handle, .sa_flags = SA_ONSTACK};
  if (sigaltstack(&stack, NULL) != 0) return 77;  // this processor's frame needs more
  if (sigaction(SIGUSR1, &action, NULL) != 0) return 1;
  return raise(SIGUSR1) == 0 ? 42 : 1;
}
