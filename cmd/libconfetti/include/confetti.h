/* Confetti: a device behind a C interface. This is version 1 of the interface (confetti_version says "abi": 1).
 *
 * Texts are UTF-8 and end with a zero byte. What goes in stays the caller's, and may be freed when the call is over.
 * What comes out is JSON, {"ok": ...} or {"error": {"code", "message"}}. It is the caller's, never NULL, and goes back by
 * confetti_free. docs/embedding.md has the codes. New members of JSON may come; an unknown option is refused.
 *
 * All functions may be called on any thread, at once. confetti_open, confetti_report, confetti_deliver and
 * confetti_metrics_step wait for the network: call them off the main thread. The others touch the disk alone.
 * After fork() without exec() each answers "forked". Never dlclose the library, and never load two versions of it.
 *
 * A folder is one person's, private to them (mode 0700), and is made when they agree. Keep it out of backups: one that is
 * restored on another device says the same twice. There is no function that forgets what was spent.
 */
#ifndef CONFETTI_H
#define CONFETTI_H
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

char *confetti_version(void); /* {"version", "abi", "go"} */
void confetti_free(char *answer);

/* A call that can be ended, of so many seconds; 0: without a limit. Where a function takes a call, 0 is none. Whoever
 * has made one gives it back by confetti_cancel, from any thread, whether the call is over or not. */
uint64_t confetti_call(double seconds);
void confetti_cancel(uint64_t call);

/* Writes down what the person has said. 0 destroys what waits, and what was spent stays. */
char *confetti_consent(const char *folder, int agreed);

/* Checks a plan, and says what it asks. Options: {"plan": its address or text, "publishers": [keys], and where needed
 * "bearer", "roots" (a file of certificates, or its text), "delay" and "wait" (seconds), "caps", "program", and "operators",
 * {"trust", "deny", "prefer": [names]}, by whom the way of a report is chosen}.
 * {"device": a number, "plan", "title", "publisher", "opens", "closes", "charge", "question", "fields"} */
char *confetti_open(const char *folder, const char *options, uint64_t call);

/* Answers the plan by name, {"drink": "tea"}, and sends the answer if it can go now. It asks for tokens before anything is
 * drawn, so that a wrong bearer costs nothing. {"status": "sent", "unfit", "delivered" or "waiting", "parts", "next", "why",
 * "said", "fits", "code"} */
char *confetti_report(uint64_t device, const char *answers, uint64_t call);
char *confetti_answer(uint64_t device, const char *answers); /* the same, without the network: it waits for confetti_deliver */
char *confetti_deliver(uint64_t device, uint64_t call);      /* sends what waits and is due */
void confetti_close(uint64_t device);                        /* what waits stays in the folder */

/* All that was agreed to, spent and said, and "words" of it for the person. */
char *confetti_ledger(const char *folder);

/* Metrics of an app, by a registry that confetti metrics sign wrote. Options: {"registry": its text, "publishers": [keys],
 * and where needed "bearer", "roots", "delay", "wait", "caps", "background"}. With "background": true the library answers by
 * itself when a period is over, and does nothing at all where CI is in the environment. {"metrics": a number} */
char *confetti_metrics_open(const char *folder, const char *options);
char *confetti_metrics_consent(uint64_t metrics, int agreed);
char *confetti_metrics_new(uint64_t metrics); /* {"new": [what the person has not agreed to, in words]} */
/* Counts: a whole number for a counter, a number for a number, a text for all others. */
char *confetti_metrics_record(uint64_t metrics, const char *name, const char *value);
char *confetti_metrics_arm(uint64_t metrics, const char *name);   /* {"arm"}: what an experiment shows */
char *confetti_metrics_step(uint64_t metrics, uint64_t call);     /* answers what is due. {"next": when to come again, "why" and "code": what failed, and is tried then} */
char *confetti_metrics_show(uint64_t metrics);                    /* {"seasons", "words": what is kept, its law, what was said} */
void confetti_metrics_close(uint64_t metrics);                    /* keeps what was counted */

#ifdef __cplusplus
}
#endif
#endif
