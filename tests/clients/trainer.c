/* A trainer in C for c_test.py, and what a caller of C99 sees of starling.h.
 *
 *   trainer [waits] [corrects] [nan] [close]
 *
 * Trains w = (1, 2) and a counter until the run ends: each step adds 1 to w, and the correction;
 * both are the gradient.
 * With `nan` its first step makes w what is no number; with `close` it leaves after the first step.
 * Each line that it prints is a fact of the test. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "starling.h"

static void take_step(starling_swarm* swarm, int spoil) {
  double* w = starling_values(swarm, 0);
  const double* correction = starling_correction(swarm, 0);
  double* tracked = starling_gradient(swarm, 0);
  starling_status status = {0};
  int k;
  status.size = sizeof status;
  starling_get_status(swarm, &status);
  for (k = 0; k < 2; ++k) {
    double gradient = 1 + (correction != NULL ? correction[k] : 0);
    w[k] += gradient;
    if (tracked != NULL) tracked[k] += gradient / (double)status.local_steps;
  }
  if (spoil) w[1] = (double)NAN;
}

static void print_state(const char* what, int code, starling_swarm* swarm) {
  const double* w = starling_values(swarm, 0);
  const int64_t* seen = starling_values(swarm, 1);
  printf("%s %d: %g %g, %d: %s\n", what, code, w[0], w[1], (int)*seen, starling_text(swarm));
}

static int train(starling_swarm* swarm, int spoils, int closes, int leaves_out) {
  int code = starling_attach(swarm);
  print_state("attach", code, swarm);
  while (code == STARLING_OK) {
    starling_report report = {0};
    starling_status status = {0};
    status.size = sizeof status;
    starling_get_status(swarm, &status);
    report.size = sizeof report;
    report.has_loss = 1;
    report.loss = 0.5 + (double)status.steps;
    report.samples = 8;
    report.learning_rate = 0.1;
    report.left_out = leaves_out && status.steps % 2 == 1;
    take_step(swarm, spoils && status.steps == 0);
    starling_log(swarm, "accuracy", 0.25);
    starling_log(swarm, "loss", (double)INFINITY);
    code = starling_step(swarm, &report);
    starling_get_status(swarm, &status);
    printf("place %d of %d, H %d, steps %d, exchanges %d\n", (int)status.place, (int)status.nodes,
           (int)status.local_steps, (int)status.steps, (int)status.exchanges);
    printf("rate %g\n", status.learning_rate);
    print_state("step", code, swarm);
    if (closes) {
      print_state("note", starling_note(swarm, "the \"best\"\tbatch"), swarm);
      print_state("note", starling_note(swarm, ""), swarm);
      break;
    }
  }
  starling_close(swarm);
  print_state("closed", starling_step(swarm, NULL), swarm);
  return code < 0;
}

/* What is wrong with the tensors, in words. */
static void print_refusal(const starling_tensor* tensors, size_t count) {
  starling_swarm* swarm = NULL;
  int code = starling_create(NULL, tensors, count, &swarm);
  printf("create %d: %s\n", code, starling_text(swarm));
  starling_free(swarm);
}

static void print_refusals(void) {
  uint64_t shape[17] = {0};
  starling_tensor tensor = {0};
  tensor.size = sizeof tensor;
  print_refusal(NULL, 0);
  print_refusal(&tensor, 1);
  tensor.name = "w";
  tensor.rank = 1;
  tensor.shape = shape;
  print_refusal(&tensor, 1);
  shape[0] = UINT64_MAX / 4;
  print_refusal(&tensor, 1);
  tensor.rank = 17;
  print_refusal(&tensor, 1);
  tensor.rank = 0;
  tensor.type = STARLING_I64;
  print_refusal(&tensor, 1);
  tensor.type = 5;
  print_refusal(&tensor, 1);
}

int main(int count, char** arguments) {
  int spoils = 0, closes = 0, leaves_out = 0, code, k;
  const uint64_t shape[] = {2};
  starling_tensor tensors[2] = {{0}};
  starling_options options = {0};
  starling_swarm* swarm = NULL;
  options.size = sizeof options;
  options.samples = 12;
  options.steps = STARLING_LINEAR;
  options.learning_rate = 0.125;
  for (k = 1; k < count; ++k) {
    if (strcmp(arguments[k], "refusals") == 0) return print_refusals(), 0;
    options.waits |= strcmp(arguments[k], "waits") == 0;
    options.corrects |= strcmp(arguments[k], "corrects") == 0;
    spoils |= strcmp(arguments[k], "nan") == 0;
    closes |= strcmp(arguments[k], "close") == 0;
    leaves_out |= strcmp(arguments[k], "leaves-out") == 0;
  }
  setvbuf(stdout, NULL, _IOLBF, 0);
  tensors[0].size = tensors[1].size = sizeof tensors[0];
  tensors[0].name = "layer \"1\"\\w";
  tensors[0].rank = 1;
  tensors[0].shape = shape;
  tensors[1].name = "seen";
  tensors[1].type = STARLING_I64;
  tensors[1].role = STARLING_DONOR;
  code = starling_create(&options, tensors, 2, &swarm);
  if (code != STARLING_OK) {
    printf("create %d: %s\n", code, starling_text(swarm));
    starling_free(swarm);
    return 1;
  }
  memcpy(starling_values(swarm, 0), (const double[]){1, 2}, 2 * sizeof(double));
  code = train(swarm, spoils, closes, leaves_out);
  starling_free(swarm);
  return code;
}
