/* Linear regression in C, on a node or alone; the last number of a row is the target.
 *
 *   cc -std=c99 -I clients/c c_linear.c build/release/clients/c/libstarling.a -lm -o c_linear
 *   starling up -n 4 --model.kind=external --trainer "./c_linear --data houses.csv"
 *   ./c_linear --data houses.csv --alone 20000
 * Columns are centred and scaled. The node takes the rows whose number is its place. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "starling.h"

enum { kColumnsLimit = 64, kRowsLimit = 1 << 20, kLineBytes = 4096 };
static double* rows; /* of `columns` numbers each */
static size_t row_count, columns;
static const double kRate = 0.002;

/* Reads rows of numbers; a line that does not begin with a number is a header. */
static int read_rows(const char* path) {
  char line[kLineBytes];
  FILE* file = fopen(path, "r");
  if (file == NULL) return 0;
  while (row_count < kRowsLimit && fgets(line, sizeof line, file) != NULL) {
    double row[kColumnsLimit];
    size_t count = 0;
    char *at = line, *end;
    for (; count < kColumnsLimit; at = end + (*end == ',')) {
      row[count] = strtod(at, &end);
      if (end == at) break;
      ++count;
    }
    if (columns == 0) columns = count;
    if (count == 0 || count != columns) continue;
    double* grown = realloc(rows, (row_count + 1) * columns * sizeof *rows);
    if (grown == NULL) break;
    rows = grown;
    memcpy(rows + row_count++ * columns, row, columns * sizeof *row);
  }
  fclose(file);
  return row_count > 0 && columns > 1;
}

static void standardise(void) {
  for (size_t column = 0; column < columns; ++column) {
    double sum = 0, squares = 0;
    for (size_t k = 0; k < row_count; ++k) sum += rows[k * columns + column];
    double mean = sum / (double)row_count;
    for (size_t k = 0; k < row_count; ++k) squares += pow(rows[k * columns + column] - mean, 2);
    double deviation = squares > 0 ? sqrt(squares / (double)row_count) : 1;
    for (double* x = rows + column; x < rows + row_count * columns; x += columns)
      *x = (*x - mean) / deviation;
  }
}

/* What the model says of a row less its target. */
static double error_of(const double* w, const double* row) {
  double error = -row[columns - 1];
  for (size_t k = 0; k + 1 < columns; ++k) error += w[k] * row[k];
  return error;
}

/* One step of stochastic gradient descent on a row; returns its loss. `share` is 1 / H. */
static double take_step(starling_swarm* swarm, const double* row, double share) {
  double* w = starling_values(swarm, 0);
  const double* correction = starling_correction(swarm, 0);
  double* tracked = starling_gradient(swarm, 0);
  const double error = error_of(w, row);
  for (size_t k = 0; k + 1 < columns; ++k) {
    double gradient = error * row[k] + (correction != NULL ? correction[k] : 0);
    w[k] -= kRate * gradient;
    if (tracked != NULL) tracked[k] += share * gradient;
  }
  return error * error / 2;
}

static double rmse(const double* w) {
  double squares = 0;
  for (size_t k = 0; k < row_count; ++k) squares += pow(error_of(w, rows + k * columns), 2);
  return sqrt(squares / (double)row_count);
}

static int train(starling_swarm* swarm, unsigned long alone) {
  double* w = starling_values(swarm, 0);
  starling_status status = {.size = sizeof status, .nodes = 1, .local_steps = 1};
  int code = alone > 0 ? STARLING_OK : starling_attach(swarm);
  if (alone == 0) starling_get_status(swarm, &status);
  for (unsigned long step = 0; code == STARLING_OK; ++step) {
    size_t row = (size_t)((status.place + step * 7919 * status.nodes) % row_count);
    starling_report report = {.size = sizeof report, .samples = 1, .has_loss = 1};
    report.loss = take_step(swarm, rows + row * columns, 1 / (double)status.local_steps);
    if (step % 1000 == 999) starling_log(swarm, "rmse", rmse(w));
    code = alone > 0 ? step + 1 == alone : starling_step(swarm, &report);
  }
  printf("%s\nrmse %.4f of the target's deviation\n", starling_text(swarm), rmse(w));
  starling_close(swarm);
  return code < 0;
}

int main(int count, char** arguments) {
  const char* data = NULL;
  unsigned long alone = 0;
  for (int k = 1; k + 1 < count; k += 2) {
    if (strcmp(arguments[k], "--data") == 0) data = arguments[k + 1];
    if (strcmp(arguments[k], "--alone") == 0) alone = strtoul(arguments[k + 1], NULL, 10);
  }
  if (data == NULL || !read_rows(data))
    return fprintf(stderr, "c_linear: --data names a csv of numbers [--alone STEPS]\n"), 2;
  standardise();
  uint64_t shape[] = {columns - 1};
  starling_tensor weight = {.size = sizeof weight, .name = "weight", .rank = 1, .shape = shape};
  starling_options options = {.size = sizeof options, .corrects = 1, .waits = 1};
  options.steps = STARLING_SGD, options.learning_rate = kRate;
  starling_swarm* swarm = NULL;
  int code = starling_create(&options, &weight, 1, &swarm);
  if (code < 0) fprintf(stderr, "c_linear: %s\n", starling_text(swarm));
  if (code == STARLING_OK) code = train(swarm, alone);
  starling_free(swarm);
  return code != 0;
}
