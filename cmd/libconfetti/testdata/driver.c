/* Calls what a line of its input names, with the fields behind it, and prints the answer as a line. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "confetti.h"

#define MANY 8

static char *field[4]; /* of the line, the first is the function */

static uint64_t number(int i) { return field[i] ? strtoull(field[i], NULL, 10) : 0; }

static void say(char *answer) {
  puts(answer);
  confetti_free(answer);
}

static void *later(void *call) {
  struct timespec t = {0, 100000000};
  nanosleep(&t, NULL);
  confetti_cancel(*(uint64_t *)call);
  return NULL;
}

/* Opens from another thread's call, which is cancelled meanwhile. */
static void cancelled(void) {
  uint64_t call = confetti_call(0);
  pthread_t other;
  pthread_create(&other, NULL, later, &call);
  say(confetti_open(field[1], field[2], call));
  pthread_join(other, NULL);
}

static void limited(void) {
  uint64_t call = confetti_call(0.2);
  say(confetti_open(field[1], field[2], call));
  confetti_cancel(call);
}

/* Each thread opens a device of its own, answers and closes it; of all of one folder one answer counts. */
static void *one(void *answered) {
  char *asked = confetti_open(field[1], field[2], 0), *at = strstr(asked, "\"device\":");
  if (!at) return puts(asked), NULL;
  uint64_t device = strtoull(at + 9, NULL, 10);
  confetti_free(asked);
  for (int i = 0; i < 20; i++) {
    char *kept = confetti_ledger(field[1]);
    if (!strstr(kept, "\"ok\"")) puts(kept);
    confetti_free(kept);
    char *said = confetti_answer(device, field[3]);
    if (strstr(said, "\"ok\"")) *(int *)answered = 1;
    else if (!strstr(said, "\"answered\"")) puts(said);
    confetti_free(said);
  }
  confetti_close(device);
  return NULL;
}

static void threads(void) {
  pthread_t all[MANY];
  int answered[MANY] = {0}, n = 0;
  for (int i = 0; i < MANY; i++) pthread_create(&all[i], NULL, one, &answered[i]);
  for (int i = 0; i < MANY; i++) pthread_join(all[i], NULL), n += answered[i];
  printf("{\"answered\":%d}\n", n);
}

static void child(void) {
  fflush(stdout);
  pid_t pid = fork();
  if (pid == 0) {
    say(confetti_ledger(field[1]));
    uint64_t call = confetti_call(1);
    confetti_cancel(call);
    confetti_close(1);
    fflush(stdout);
    _exit(call != 0);
  }
  int status = 1;
  waitpid(pid, &status, 0);
  printf("{\"exit\":%d}\n", status);
}

static void used(void) {
  struct rusage r;
  long kb = 0;
  char line[256];
  getrusage(RUSAGE_SELF, &r);
  FILE *f = fopen("/proc/self/status", "r");
  while (f && fgets(line, sizeof line, f))
    if (sscanf(line, "VmRSS: %ld", &kb) == 1) break;
  if (f) fclose(f);
  printf("{\"cpu_ms\":%.1f,\"resident_kb\":%ld}\n", (r.ru_utime.tv_sec + r.ru_stime.tv_sec) * 1e3 + (r.ru_utime.tv_usec + r.ru_stime.tv_usec) / 1e3, kb);
}

int main(void) {
  char *line = NULL;
  size_t size = 0;
  for (ssize_t n; (n = getline(&line, &size, stdin)) > 0; fflush(stdout)) {
    line[n - 1] = 0;
    char *rest = line;
    for (int i = 0; i < 4; i++) field[i] = strsep(&rest, "\t");
#define IS(name) (!strcmp(field[0], name))
    if (IS("version")) say(confetti_version());
    else if (IS("consent")) say(confetti_consent(field[1], (int)number(2)));
    else if (IS("open")) say(confetti_open(field[1], field[2], 0));
    else if (IS("report")) say(confetti_report(number(1), field[2], 0));
    else if (IS("answer")) say(confetti_answer(number(1), field[2]));
    else if (IS("deliver")) say(confetti_deliver(number(1), 0));
    else if (IS("ledger")) say(confetti_ledger(field[1]));
    else if (IS("close")) confetti_close(number(1)), puts("{}");
    else if (IS("cancelled")) cancelled();
    else if (IS("limited")) limited();
    else if (IS("threads")) threads();
    else if (IS("fork")) child();
    else if (IS("used")) used();
    else if (IS("metrics_open")) say(confetti_metrics_open(field[1], field[2]));
    else if (IS("metrics_consent")) say(confetti_metrics_consent(number(1), (int)number(2)));
    else if (IS("metrics_new")) say(confetti_metrics_new(number(1)));
    else if (IS("metrics_record")) say(confetti_metrics_record(number(1), field[2], field[3]));
    else if (IS("metrics_arm")) say(confetti_metrics_arm(number(1), field[2]));
    else if (IS("metrics_step")) say(confetti_metrics_step(number(1), 0));
    else if (IS("metrics_show")) say(confetti_metrics_show(number(1)));
    else if (IS("metrics_close")) confetti_metrics_close(number(1)), puts("{}");
    else return 2;
  }
  free(line);
  return 0;
}
