/* What the parts of the library share: the segment, the connection, and the state of a swarm.
 * Functions that only the library calls begin with sl_, so that they meet no name of the caller's.
 */
#ifndef STARLING_CLIENTS_C_SWARM_H
#define STARLING_CLIENTS_C_SWARM_H

#include <stddef.h>
#include <stdint.h>

#include "clients/c/json.h"
#include "clients/c/starling.h"

#define WIRE_VERSION 1
#define RECORD_BYTES_LIMIT 65536
#define TENSORS_LIMIT 65536
#define TABLE_BYTES_LIMIT (8u << 20)
#define RANK_LIMIT 16
#define TEXT_BYTES 1024
#define PATH_BYTES 108 /* of sun_path, its 0 included */

/* A part of the segment, in bytes from its begin. */
typedef struct {
  uint64_t offset;
  uint64_t bytes;
} region;

typedef struct {
  uint64_t offset; /* from the begin of the region `values`, in bytes */
  uint64_t count;  /* of numbers */
  int type;
  int role;
} tensor_place;

struct starling_swarm {
  starling_options options; /* `socket` is owned; NULL where it is to be found */

  tensor_place* places; /* owned; one a tensor */
  size_t count;
  unsigned char* memory; /* the segment; NULL before */
  uint64_t bytes;
  int memory_descriptor; /* -1 where there is none */
  region table;
  region values;
  region correction; /* without bytes where nothing can be corrected */
  region gradient;   /* the same, of gradients */
  int can_shift;     /* averaged tensors hold numbers that sl_segment_shift can add to */

  int connection;        /* -1 where there is none */
  char path[PATH_BYTES]; /* of the socket connected to */
  char record[RECORD_BYTES_LIMIT + 1];

  uint64_t job;
  uint64_t left; /* steps until the exchange */
  int corrects;  /* this round */
  int shifts;    /* the same */
  int tracks;    /* the same */
  double loss_sum;
  uint64_t losses;
  uint64_t samples;  /* since the last exchange */
  uint64_t left_out; /* the same */
  double learning_rate;
  starling_status status;
  int is_over;
  char words[TEXT_BYTES]; /* the last error, or the reason of the end */
};

/* Notes what failed and returns `code`. */
int sl_fail(starling_swarm* swarm, int code, const char* format, ...);

/* Lays the tensors out and fills the header and the table. */
int sl_segment_make(starling_swarm* swarm, const starling_tensor* tensors, size_t count);
/* The index of the first averaged tensor with a number that is not finite; `count` where there is
 * none. */
size_t sl_segment_fault(const starling_swarm* swarm);
/* Adds the region `correction` to the averaged tensors. */
void sl_segment_shift(starling_swarm* swarm);
void sl_segment_free(starling_swarm* swarm);

/* Connects to the socket of the options, the environment, or the only one there is. */
int sl_wire_connect(starling_swarm* swarm);
/* Sends a record, with the segment's descriptor where `with_segment` is not 0. */
int sl_wire_send(starling_swarm* swarm, const text* record, int with_segment);
/* Receives a record into swarm->record. `seconds` below 0 waits without end. STARLING_REFUSED where
 * it is a refusal. */
int sl_wire_receive(starling_swarm* swarm, double seconds);
void sl_wire_drop(starling_swarm* swarm);

#endif
