/* The loop of a trainer: hello, rounds, end. starling.h is its contract. */
#include "clients/c/starling.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clients/c/swarm.h"

#define PROGRESS_OFFSET 8
#define OVER_OFFSET 16
#define RETRY_SECONDS 0.02 /* between two looks for a daemon */
#define NAME_BYTES_LIMIT 1024
#define NOTE_BYTES_LIMIT 1024

int sl_fail(starling_swarm* swarm, int code, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(swarm->words, sizeof swarm->words, format, arguments);
  va_end(arguments);
  return code;
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void pause_for(double seconds) {
  struct timespec time = {0, (long)(1e9 * seconds)};
  nanosleep(&time, NULL);
}

int starling_create(const starling_options* options, const starling_tensor* tensors, size_t count,
                    starling_swarm** out) {
  starling_swarm* swarm = calloc(1, sizeof *swarm);
  *out = swarm;
  if (swarm == NULL) return STARLING_SYSTEM;
  swarm->connection = -1;
  swarm->memory_descriptor = -1;
  swarm->status.nodes = 1;
  if (options != NULL) {
    if (options->size < sizeof(size_t)) {
      return sl_fail(swarm, STARLING_INVALID,
                     "the size of starling_options is %zu; set it to sizeof", options->size);
    }
    memcpy(&swarm->options, options,
           options->size < sizeof *options ? options->size : sizeof *options);
  }
  if (swarm->options.socket != NULL) {
    swarm->options.socket = strdup(swarm->options.socket);
    if (swarm->options.socket == NULL) return sl_fail(swarm, STARLING_SYSTEM, "there is no memory");
  }
  if (swarm->options.steps < STARLING_ANY_STEPS || swarm->options.steps > STARLING_LINEAR) {
    return sl_fail(swarm, STARLING_INVALID, "no steps have the number %d", swarm->options.steps);
  }
  swarm->learning_rate = swarm->options.learning_rate;
  return sl_segment_make(swarm, tensors, count);
}

void* starling_values(starling_swarm* swarm, size_t index) {
  if (swarm->memory == NULL || index >= swarm->count) return NULL;
  return swarm->memory + swarm->values.offset + swarm->places[index].offset;
}

/* The part of an averaged tensor in a region that is in use; NULL for other tensors. */
static void* part_of(const starling_swarm* swarm, region place, size_t index) {
  if (index >= swarm->count || swarm->places[index].role != STARLING_AVERAGED) return NULL;
  return swarm->memory + place.offset + swarm->places[index].offset;
}

const void* starling_correction(const starling_swarm* swarm, size_t index) {
  return swarm->corrects ? part_of(swarm, swarm->correction, index) : NULL;
}

void* starling_gradient(starling_swarm* swarm, size_t index) {
  return swarm->tracks ? part_of(swarm, swarm->gradient, index) : NULL;
}

static void add_region(text* record, const char* name, region place) {
  if (place.bytes == 0) return;
  sl_text_add(record, ",\"%s\":{\"offset\":%llu,\"bytes\":%llu}", name,
              (unsigned long long)place.offset, (unsigned long long)place.bytes);
}

/* Adds the member of an object where the value is finite. printf writes a comma in some locales. */
static void add_number(text* record, const char* name, double value) {
  if (!isfinite(value)) return;
  char digits[40];
  snprintf(digits, sizeof digits, "%.17g", value);
  char* comma = strchr(digits, ',');
  if (comma != NULL) *comma = '.';
  if (record->used > 0 && record->data[record->used - 1] != '{') sl_text_add(record, ",");
  sl_text_add_string(record, name);
  sl_text_add(record, ":%s", digits);
}

static void add_learning_rate(text* record, const starling_swarm* swarm) {
  if (swarm->learning_rate > 0) add_number(record, "learning_rate", swarm->learning_rate);
}

/* Sends a record and frees it. */
static int send_text(starling_swarm* swarm, text* record, int with_segment) {
  int code = sl_wire_send(swarm, record, with_segment);
  sl_text_free(record);
  return code;
}

static int say_hello(starling_swarm* swarm) {
  static const char* const kSteps[] = {"", "sgd", "linear"};
  text hello = {0};
  sl_text_add(&hello,
              "{\"kind\":\"hello\",\"version\":%d,\"client\":\"c 0.1\",\"mode\":\"loop\","
              "\"samples\":%llu,\"corrects\":%s,\"shifts\":%s,\"steps\":\"%s\","
              "\"evaluates\":false,\"segment\":%llu",
              WIRE_VERSION, (unsigned long long)swarm->options.samples,
              swarm->options.corrects ? "true" : "false", swarm->can_shift ? "true" : "false",
              kSteps[swarm->options.steps], (unsigned long long)swarm->bytes);
  add_learning_rate(&hello, swarm);
  add_region(&hello, "table", swarm->table);
  add_region(&hello, "values", swarm->values);
  add_region(&hello, "correction", swarm->correction);
  add_region(&hello, "gradient", swarm->gradient);
  sl_text_add(&hello, "}");
  return send_text(swarm, &hello, 1);
}

static int is_kind(const starling_swarm* swarm, const char* kind) {
  char found[16];
  sl_json_string(swarm->record, "kind", found, sizeof found);
  return strcmp(found, kind) == 0;
}

static int garbled(starling_swarm* swarm, const char* expected) {
  sl_wire_drop(swarm);
  return sl_fail(swarm, STARLING_GARBLED, "the daemon sent %.200s; expected %s", swarm->record,
                 expected);
}

/* Takes up the order in swarm->record: the next steps, or the end. */
static int follow(starling_swarm* swarm) {
  if (is_kind(swarm, "end")) {
    sl_json_string(swarm->record, "reason", swarm->words, sizeof swarm->words);
    swarm->is_over = 1;
    swarm->corrects = swarm->shifts = swarm->tracks = 0;
    sl_wire_drop(swarm);
    return STARLING_ENDED;
  }
  uint64_t count = sl_json_count(swarm->record, "count", 0);
  if (!is_kind(swarm, "step") || count == 0) return garbled(swarm, "step with a count, or end");
  swarm->job = sl_json_count(swarm->record, "job", 0);
  swarm->left = count;
  swarm->corrects = swarm->options.corrects && sl_json_is_true(swarm->record, "corrects");
  swarm->shifts = swarm->can_shift && sl_json_is_true(swarm->record, "shifts");
  swarm->tracks = swarm->options.corrects && sl_json_is_true(swarm->record, "tracks");
  if (swarm->tracks)
    memset(swarm->memory + swarm->gradient.offset, 0, (size_t)swarm->gradient.bytes);
  swarm->loss_sum = 0;
  swarm->losses = swarm->samples = swarm->left_out = 0;
  starling_status* status = &swarm->status;
  status->round = sl_json_count(swarm->record, "round", 0);
  status->place = sl_json_count(swarm->record, "place", 0);
  status->nodes = sl_json_count(swarm->record, "nodes", 1);
  status->local_steps = count;
  status->learning_rate = sl_json_number(swarm->record, "learning_rate", 0);
  return STARLING_OK;
}

/* What is left until `end`; below 0 where there is no end. */
static double left_until(double end) {
  if (end <= 0) return -1;
  double left = end - now();
  return left > 0 ? left : 0;
}

/* Not 0 once the daemon waits for no more steps. */
static volatile uint64_t* over(const starling_swarm* swarm) {
  return (volatile uint64_t*)(void*)(swarm->memory + OVER_OFFSET);
}

static int attach_once(starling_swarm* swarm, double end) {
  int code = sl_wire_connect(swarm);
  *over(swarm) = 0;
  if (code == STARLING_OK) code = say_hello(swarm);
  /* Of a daemon that closed already, its last word says why. */
  if (code == STARLING_OK || code == STARLING_GONE) code = sl_wire_receive(swarm, left_until(end));
  if (code != STARLING_OK) return code;
  if (!is_kind(swarm, "welcome")) return garbled(swarm, "welcome");
  uint64_t version = sl_json_count(swarm->record, "version", 0);
  if (version != WIRE_VERSION) {
    return sl_fail(
        swarm, STARLING_REFUSED,
        "the daemon at %s speaks version %llu of the interface and this library version %d",
        swarm->path, (unsigned long long)version, WIRE_VERSION);
  }
  code = sl_wire_receive(swarm, left_until(end));
  return code == STARLING_OK ? follow(swarm) : code;
}

static int attach_until(starling_swarm* swarm, double end) {
  for (;;) {
    int code = attach_once(swarm, end);
    if (code < 0) sl_wire_drop(swarm);
    int may_come = code == STARLING_NOT_FOUND || code == STARLING_GONE;
    if (!may_come || !swarm->options.waits) return code;
    if (end > 0 && now() >= end) return STARLING_TIMED_OUT;
    pause_for(RETRY_SECONDS);
  }
}

int starling_attach(starling_swarm* swarm) {
  if (swarm->memory == NULL) {
    return sl_fail(swarm, STARLING_INVALID, "there are no tensors; starling_create failed");
  }
  if (swarm->is_over) return STARLING_ENDED;
  double timeout = swarm->options.timeout_seconds;
  return attach_until(swarm, timeout > 0 ? now() + timeout : 0);
}

/* Why the network must not take these values; an empty text where it may. */
static void add_refusal(const starling_swarm* swarm, double loss, text* done) {
  unsigned long long steps = (unsigned long long)swarm->status.local_steps;
  if (swarm->losses > 0 && !isfinite(loss)) {
    sl_text_add(done, ",\"refusal\":\"the loss is not finite after %llu steps\"", steps);
    return;
  }
  size_t index = sl_segment_fault(swarm);
  if (index < swarm->count) {
    sl_text_add(done, ",\"refusal\":\"tensor %zu is not finite after %llu steps\"", index, steps);
  }
}

static int send_done(starling_swarm* swarm) {
  double loss = swarm->losses > 0 ? swarm->loss_sum / (double)swarm->losses : 0;
  text done = {0};
  sl_text_add(
      &done, "{\"kind\":\"done\",\"job\":%llu,\"steps\":%llu,\"left_out\":%llu",
      (unsigned long long)swarm->job,
      (unsigned long long)(swarm->status.local_steps - swarm->left + 1 - swarm->left_out),
      (unsigned long long)swarm->left_out);
  if (swarm->samples > 0) {
    sl_text_add(&done, ",\"samples\":%llu", (unsigned long long)swarm->samples);
  }
  if (swarm->losses > 0) add_number(&done, "loss", loss);
  add_learning_rate(&done, swarm);
  add_refusal(swarm, loss, &done);
  sl_text_add(&done, "}");
  return send_text(swarm, &done, 0);
}

static int exchange(starling_swarm* swarm) {
  double began = now();
  int code = send_done(swarm);
  /* What the daemon said before it closed says why. */
  if (code == STARLING_OK || code == STARLING_GONE) code = sl_wire_receive(swarm, -1);
  if (code == STARLING_OK) code = follow(swarm);
  if (code < 0) sl_wire_drop(swarm);
  if (code == STARLING_GONE && swarm->options.waits) code = attach_until(swarm, 0);
  swarm->status.waited_seconds += now() - began;
  if (code >= 0) ++swarm->status.exchanges;
  return code;
}

/* Notes the fields of a report that its size holds. Not 0 where a step was left out. */
static int take_report(starling_swarm* swarm, const starling_report* given) {
  starling_report report;
  memset(&report, 0, sizeof report);
  memcpy(&report, given, given->size < sizeof report ? given->size : sizeof report);
  if (report.has_loss) {
    swarm->loss_sum += report.loss;
    ++swarm->losses;
  }
  if (report.learning_rate > 0) swarm->learning_rate = report.learning_rate;
  swarm->samples += report.samples;
  if (report.left_out) ++swarm->left_out;
  return report.left_out;
}

int starling_step(starling_swarm* swarm, const starling_report* report) {
  if (swarm->is_over) return STARLING_ENDED;
  if (swarm->path[0] == 0) return sl_fail(swarm, STARLING_INVALID, "starling_attach comes first");
  int is_left_out = report != NULL && take_report(swarm, report);
  ++swarm->status.steps;
  starling_alive(swarm);
  if (swarm->shifts && !is_left_out) sl_segment_shift(swarm);
  if (swarm->left > 1 && *over(swarm) == 0) {
    --swarm->left;
    return STARLING_OK;
  }
  return exchange(swarm);
}

int starling_log(starling_swarm* swarm, const char* name, double value) {
  if (name == NULL || strlen(name) > NAME_BYTES_LIMIT) {
    return sl_fail(swarm, STARLING_INVALID, "a metric needs a name of at most %d bytes",
                   NAME_BYTES_LIMIT);
  }
  if (swarm->connection < 0 || !isfinite(value)) return STARLING_OK;
  text record = {0};
  sl_text_add(&record, "{\"kind\":\"log\",\"metrics\":{");
  add_number(&record, name, value);
  sl_text_add(&record, "}}");
  int code = send_text(swarm, &record, 0);
  return code == STARLING_GONE ? STARLING_OK : code; /* starling_step notices it */
}

int starling_note(starling_swarm* swarm, const char* line) {
  if (line == NULL || *line == 0 || strlen(line) > NOTE_BYTES_LIMIT) {
    return sl_fail(swarm, STARLING_INVALID, "a note has 1 to %d bytes", NOTE_BYTES_LIMIT);
  }
  if (swarm->connection < 0) return STARLING_OK;
  text record = {0};
  sl_text_add(&record, "{\"kind\":\"note\",\"text\":");
  sl_text_add_string(&record, line);
  sl_text_add(&record, "}");
  int code = send_text(swarm, &record, 0);
  return code == STARLING_GONE ? STARLING_OK : code; /* starling_step notices it */
}

void starling_alive(starling_swarm* swarm) {
  volatile uint64_t* progress = (volatile uint64_t*)(void*)(swarm->memory + PROGRESS_OFFSET);
  *progress = *progress + 1;
}

int starling_get_status(const starling_swarm* swarm, starling_status* status) {
  size_t size = status->size;
  if (size < sizeof(size_t)) return STARLING_INVALID;
  memcpy(status, &swarm->status, size < sizeof *status ? size : sizeof *status);
  status->size = size;
  return STARLING_OK;
}

const char* starling_text(const starling_swarm* swarm) {
  return swarm != NULL ? swarm->words : "there is no memory";
}

void starling_close(starling_swarm* swarm) {
  if (swarm->connection >= 0) {
    text record = {0};
    sl_text_add(&record, "{\"kind\":\"close\"}");
    send_text(swarm, &record, 0);
    sl_wire_drop(swarm);
  }
  swarm->corrects = swarm->shifts = 0;
  if (!swarm->is_over) sl_fail(swarm, STARLING_OK, "closed by the trainer");
  swarm->is_over = 1;
}

void starling_free(starling_swarm* swarm) {
  if (swarm == NULL) return;
  sl_wire_drop(swarm);
  sl_segment_free(swarm);
  free((char*)swarm->options.socket);
  free(swarm);
}
