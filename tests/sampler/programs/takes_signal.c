// Takes every real-time signal for itself after the start, then computes in threads. Prints how many of
// the signals its handler saw in the second half, when the sampler must have noticed.
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

static atomic_int seen;
static void on_signal(int number) { (void)number; seen++; }
static void *burn(void *argument) {
  struct timespec now;
  do clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  while (now.tv_nsec < 200000000 && now.tv_sec == 0);
  return argument;
}

int main(void) {
  struct sigaction mine = {.sa_handler = on_signal};
  for (int number = SIGRTMIN; number <= SIGRTMAX; number++) sigaction(number, &mine, NULL);
  pthread_t thread;
  pthread_create(&thread, NULL, burn, NULL);  // the sampler looks at its signal here
  pthread_join(thread, NULL);
  seen = 0;
  burn(NULL);
  pthread_create(&thread, NULL, burn, NULL);
  pthread_join(thread, NULL);
  printf("seen %d\n", seen);
  return 0;
}
