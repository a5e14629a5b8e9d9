//go:build libconfetti

// Every function of confetti.h. A process that was forked has none of the threads that Go needs, so each looks for that
// before anything of Go runs.
#include <stdlib.h>
#include <string.h>

#include "_cgo_export.h"
#include "include/confetti.h"

#ifdef _WIN32
static int forked(void) { return 0; }
#else
#include <unistd.h>
static pid_t born;
__attribute__((constructor)) static void begin(void) { born = getpid(); }
static int forked(void) { return getpid() != born; }
#endif

static char *refusal(void) {
  static const char text[] = "{\"error\":{\"code\":\"forked\",\"message\":\"this process was forked after the library began: use a new process, by exec or spawn\"}}";
  char *copy = malloc(sizeof text);
  if (!copy) abort();
  return memcpy(copy, text, sizeof text);
}

#define ASK(call) (forked() ? refusal() : (call))

char *confetti_version(void) { return ASK(goVersion()); }
void confetti_free(char *answer) { free(answer); }
uint64_t confetti_call(double seconds) { return forked() ? 0 : goCall(seconds); }
void confetti_cancel(uint64_t call) { if (!forked()) goCancel(call); }
char *confetti_consent(const char *folder, int agreed) { return ASK(goConsent((char *)folder, agreed)); }
char *confetti_open(const char *folder, const char *options, uint64_t call) { return ASK(goOpen((char *)folder, (char *)options, call)); }
char *confetti_report(uint64_t device, const char *answers, uint64_t call) { return ASK(goReport(device, (char *)answers, call)); }
char *confetti_answer(uint64_t device, const char *answers) { return ASK(goAnswer(device, (char *)answers)); }
char *confetti_deliver(uint64_t device, uint64_t call) { return ASK(goDeliver(device, call)); }
void confetti_close(uint64_t device) { if (!forked()) goClose(device); }
char *confetti_ledger(const char *folder) { return ASK(goLedger((char *)folder)); }
char *confetti_metrics_open(const char *folder, const char *options) { return ASK(goMetricsOpen((char *)folder, (char *)options)); }
char *confetti_metrics_consent(uint64_t metrics, int agreed) { return ASK(goMetricsConsent(metrics, agreed)); }
char *confetti_metrics_new(uint64_t metrics) { return ASK(goMetricsNew(metrics)); }
char *confetti_metrics_record(uint64_t metrics, const char *name, const char *value) { return ASK(goMetricsRecord(metrics, (char *)name, (char *)value)); }
char *confetti_metrics_arm(uint64_t metrics, const char *name) { return ASK(goMetricsArm(metrics, (char *)name)); }
char *confetti_metrics_step(uint64_t metrics, uint64_t call) { return ASK(goMetricsStep(metrics, call)); }
char *confetti_metrics_show(uint64_t metrics) { return ASK(goMetricsShow(metrics)); }
void confetti_metrics_close(uint64_t metrics) { if (!forked()) goMetricsClose(metrics); }
