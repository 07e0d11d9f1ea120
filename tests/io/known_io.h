/* Shared by the files of the program known_io: see known_io.c. */
#pragma once

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#define CHECK(condition)                                                                          \
  do {                                                                                            \
    if (!(condition)) {                                                                           \
      dprintf(2, "%s:%d: %s is false, errno %d\n", __FILE__, __LINE__, #condition, errno);        \
      _exit(1);                                                                                   \
    }                                                                                             \
  } while (0)

extern volatile int zero; /* hides constants from the compiler */
extern char buffer[4096];

/* known_kinds.c */
void text(void);
void scanned(void);
void paths(void);
void unnamed(void);
void directories(void);
void copies(void);
void mapped(void);
void requests(void);

/* known_sockets.c */
void streamed(void);
void datagrams(void);
void local_sockets(void);
