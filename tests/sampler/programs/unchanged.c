// What a sampler must not change, under as many ticks as possible: errno, signal mask, dispositions,
// alternate stack, calls that a handler interrupts whatever SA_RESTART says, the program's own profiling
// signal, fork, vfork, exec, and a real-time signal of its own. Prints "done" or the line that failed.
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CHECK(condition)                                                   \
  do {                                                                     \
    if (!(condition)) {                                                    \
      fprintf(stderr, "line %d: %s (errno %d)\n", __LINE__, #condition, errno); \
      exit(10);                                                            \
    }                                                                      \
  } while (0)

static volatile sig_atomic_t own_ticks;
static void on_own(int number) { (void)number; own_ticks++; }

static double seconds(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
static void burn(double length) {
  double end = seconds(CLOCK_THREAD_CPUTIME_ID) + length;
  while (seconds(CLOCK_THREAD_CPUTIME_ID) < end) {}
}
static sem_t semaphore;
static void *poster(void *argument) {
  usleep(100000);
  sem_post(&semaphore);
  return argument;
}
static void *burner(void *argument) {
  burn(*(double *)argument);
  return argument;
}

int main(int count, char **arguments) {
  CHECK(errno == 0);
  if (count > 1) {  // the image after exec: no timer has survived
    burn(0.1);
    puts(arguments[1]);
    return 0;
  }
  sigset_t mask;
  stack_t stack;
  struct sigaction action;
  pthread_sigmask(SIG_BLOCK, NULL, &mask);
  for (int number = 1; number <= SIGRTMAX; number++) CHECK(sigismember(&mask, number) != 1);
  CHECK(sigaltstack(NULL, &stack) == 0 && (stack.ss_flags & SS_DISABLE));
  for (int number = 1; number < 32; number++)
    CHECK(number == SIGKILL || number == SIGSTOP || (sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_DFL));

  double work = 1.5, start;
  pthread_t busy, helper;
  CHECK(pthread_create(&busy, NULL, burner, &work) == 0);  // ticks go to the thread that computes
  burn(0.2);
  struct pollfd nothing = {.fd = -1};
  start = seconds(CLOCK_MONOTONIC);
  CHECK(poll(&nothing, 0, 150) == 0 && seconds(CLOCK_MONOTONIC) - start > 0.149);
  struct timespec pause = {0, 150000000};
  CHECK(nanosleep(&pause, NULL) == 0 && usleep(50000) == 0);
  sem_init(&semaphore, 0, 0);
  CHECK(pthread_create(&helper, NULL, poster, NULL) == 0 && sem_wait(&semaphore) == 0);
  pthread_join(helper, NULL);
  int pair[2];
  char byte;
  struct timeval limit = {0, 100000};
  CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
  CHECK(setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) == 0);
  CHECK(recv(pair[0], &byte, 1, 0) == -1 && errno == EAGAIN);
  pthread_join(busy, NULL);

  errno = 77;
  burn(0.2);
  CHECK(errno == 77);

  struct sigaction mine = {.sa_handler = on_own, .sa_flags = SA_RESTART};
  CHECK(sigaction(SIGPROF, &mine, NULL) == 0);
  struct itimerval every = {{0, 5000}, {0, 5000}}, none = {{0, 0}, {0, 0}};
  CHECK(setitimer(ITIMER_PROF, &every, NULL) == 0);
  burn(0.3);
  setitimer(ITIMER_PROF, &none, NULL);
  CHECK(own_ticks >= 10 && own_ticks <= 200);
  CHECK(sigaction(SIGPROF, NULL, &action) == 0 && action.sa_handler == on_own);

  mine.sa_handler = on_own;
  own_ticks = 0;
  CHECK(sigaction(SIGRTMIN, &mine, NULL) == 0);  // where a program's own real-time signals begin
  burn(0.2);
  CHECK(own_ticks == 0);
  CHECK(raise(SIGRTMIN) == 0 && own_ticks == 1);

  int status;
  pid_t child = fork();
  if (child == 0) {
    burn(0.2);
    _exit(7);
  }
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7);
  child = vfork();
  if (child == 0) _exit(8);
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 8);
  fflush(stdout);
  unsetenv("LD_PRELOAD");  // a new image without the tool: a timer that survived would kill it
  execl(arguments[0], arguments[0], "done", (char *)NULL);
  return 1;
}
