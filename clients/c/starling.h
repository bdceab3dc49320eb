/* The C library of a trainer beside the daemon: a training loop in C, or in any language that calls
 * C, hands its tensors to the daemon of Starling and gets them back averaged. docs/attach.md says
 * what travels.
 *
 *   starling_create   lays the tensors out in memory that the daemon shares
 *   (the caller writes its first values to starling_values)
 *   starling_attach   waits until the values are those of the network
 *   starling_step     once after each step of the caller's optimizer; every H-th call exchanges
 *   starling_close    leaves in order
 *   starling_free     gives the memory back
 *
 * Functions that can fail return a code: 0 or above is success, below 0 is a failure that
 * starling_text puts into words. A swarm is used by one thread at a time, and is not used after
 * fork(). Nothing calls back. Every struct of the caller begins with its size, so that a later
 * library knows which fields it has: set it to sizeof, and what is not used to 0. */
#ifndef STARLING_H
#define STARLING_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define STARLING_ABI 1

enum {
  STARLING_OK = 0,
  STARLING_ENDED = 1,      /* the run is over; starling_text says why */
  STARLING_INVALID = -1,   /* an argument is wrong */
  STARLING_NOT_FOUND = -2, /* no daemon listens */
  STARLING_REFUSED = -3,   /* the daemon does not take this trainer */
  STARLING_GONE = -4,      /* the daemon closed the connection without a word */
  STARLING_TIMED_OUT = -5, /* the time of starling_attach has passed */
  STARLING_GARBLED = -6,   /* the daemon sent what this library does not understand */
  STARLING_SYSTEM = -7     /* the system gave no memory or no file descriptor */
};

/* Types of numbers. */
enum { STARLING_F64 = 0, STARLING_F32 = 1, STARLING_F16 = 2, STARLING_BF16 = 3, STARLING_I64 = 4 };

/* What the network does with a tensor. */
enum {
  STARLING_AVERAGED = 0,  /* floating: parameters */
  STARLING_STATISTIC = 1, /* floating: averaged without a gradient */
  STARLING_DONOR = 2,     /* a newcomer takes that of its donor */
  STARLING_LOCAL = 3      /* never read by the daemon */
};

/* What is known of the steps of a loop. */
enum {
  STARLING_ANY_STEPS = 0,
  STARLING_SGD = 1,   /* x -= rate * gradient */
  STARLING_LINEAR = 2 /* linear in the gradients, as with a momentum */
};

typedef struct starling_swarm starling_swarm;

typedef struct {
  size_t size;
  const char* name; /* UTF-8; unique among the tensors */
  int type;
  int role;
  size_t rank;           /* how many sizes `shape` has; 0 for one number, at most 16 */
  const uint64_t* shape; /* none of the sizes is 0; row-major */
} starling_tensor;

typedef struct {
  size_t size;
  const char* socket;     /* NULL: $STARLING_SOCKET, else the only socket that there is */
  uint64_t samples;       /* held by this trainer; 0 where it does not know */
  double timeout_seconds; /* of starling_attach; 0 waits without end */
  int corrects; /* not 0: the loop adds starling_correction to gradients, and to starling_gradient
                 */
  int waits;    /* not 0: a daemon that is not there yet, or goes, is waited for and attached to */
  int steps;    /* what a step of the loop is; algorithms that need to know it refuse others */
  double learning_rate; /* of the first steps; 0 where it is not told */
} starling_options;

/* What a step came to. */
typedef struct {
  size_t size;
  double loss;          /* read where has_loss is not 0; one that is not finite is not shared */
  double learning_rate; /* 0 where it is not told */
  uint64_t samples;     /* of this step */
  int has_loss;
  int left_out; /* not 0: the optimizer took no step, and nothing is corrected for it */
} starling_report;

typedef struct {
  size_t size;
  uint64_t round;
  uint64_t place; /* of this node among `nodes`, from 0 */
  uint64_t nodes;
  uint64_t local_steps; /* H, of the round that is under way */
  double learning_rate; /* of the daemon's schedule; 0 where there is none */
  uint64_t steps;       /* all calls of starling_step */
  uint64_t exchanges;
  double waited_seconds; /* for the daemon, within starling_step */
} starling_status;

/* Makes a swarm of `count` tensors; `options` may be NULL. Texts and shapes are copied. *swarm is
 * set on failure too, for starling_text and starling_free, or NULL without memory. */
int starling_create(const starling_options* options, const starling_tensor* tensors, size_t count,
                    starling_swarm** swarm);

/* The numbers of tensor `index`, aligned to 64 bytes; NULL for an index out of range. Valid until
 * starling_free. The caller writes to them but for the time within starling_attach and
 * starling_step, when the daemon does. */
void* starling_values(starling_swarm* swarm, size_t index);

/* What is to be added to the gradient of averaged tensor `index` in each step of this round, in the
 * layout of its values; NULL where there is nothing to add. Asked for anew after each
 * starling_step. */
const void* starling_correction(const starling_swarm* swarm, size_t index);

/* Where the loop adds, in each step of this round, the gradient of averaged tensor `index` with its
 * correction, divided by the local_steps of starling_status; NULL where nobody asks for it. Zero at
 * the begin of a round. */
void* starling_gradient(starling_swarm* swarm, size_t index);

/* Attaches to the daemon and waits until the values are those of the network. STARLING_ENDED where
 * the run is over already. After STARLING_GONE it may be called again. */
int starling_attach(starling_swarm* swarm);

/* Counts a step; every H-th call exchanges and waits for the network. What the algorithm adds to
 * the parameters after each step is added here. `report` may be NULL. Losses are averaged over the
 * round. STARLING_ENDED once the run is over. */
int starling_step(starling_swarm* swarm, const starling_report* report);

/* Tells the daemon a number by name; "loss", "accuracy" (0 to 1) and "rmse" are taken for
 * evaluations of the model. One that is not finite is left out. */
int starling_log(starling_swarm* swarm, const char* name, double value);

/* Tells people something, by the events and the warnings of the node: a few short lines a minute.
 */
int starling_note(starling_swarm* swarm, const char* line);

/* A sign of life within a step that takes long. */
void starling_alive(starling_swarm* swarm);

/* Fills the fields of `status` that its size holds. */
int starling_get_status(const starling_swarm* swarm, starling_status* status);

/* What failed last, or why the run is over; "" before. Valid until the next call with the swarm. Of
 * NULL: that there was no memory. */
const char* starling_text(const starling_swarm* swarm);

/* Tells the daemon that the trainer leaves. The values stay valid; closing twice does no harm. */
void starling_close(starling_swarm* swarm);

/* Closes without telling the daemon, if that was not done, and frees everything. NULL is allowed.
 */
void starling_free(starling_swarm* swarm);

#ifdef __cplusplus
}
#endif

#endif
