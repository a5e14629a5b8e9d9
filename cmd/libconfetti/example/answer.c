/* Answers one plan as one person: ./answer "$(cat trial/app.json)" */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "confetti.h"

int main(int argc, char **argv) {
  if (argc != 2) return fputs("usage: answer OPTIONS, the text of app.json\n", stderr), 2;
  const char *options = argv[1];

  char *said = confetti_consent("device", 1);               /* after the person's yes; a folder of theirs, in no backup */
  confetti_free(said);
  char *asked = confetti_open("device", options, 0);
  const char *at = strstr(asked, "\"device\":");
  uint64_t device = at ? strtoull(at + 9, NULL, 10) : 0;    /* 0 is no device, and every call says so */
  said = confetti_report(device, "{\"colour\":\"green\"}", 0);
  puts(said);                                               /* {"ok":{"status":"sent",...}}, or {"error":...} */
  confetti_free(said), confetti_free(asked);
  confetti_close(device);
  return 0;
}
