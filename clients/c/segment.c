/* The memory that trainer and daemon share: a sealed memfd with the numbers of the tensors. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "clients/c/swarm.h"

#define MAGIC UINT64_C(0x3152524154535453) /* "STSTARR1" */
#define HEADER_BYTES 64
#define ALIGNMENT 64
#define PAGE_BYTES 4096

/* A segment of more is an error of the caller: the address space has 2^47 bytes. */
#define VALUES_BYTES_LIMIT (UINT64_C(1) << 46)

static const char* const kTypeNames[] = {"f64", "f32", "f16", "bf16", "i64"};
static const uint64_t kTypeBytes[] = {8, 4, 2, 2, 8};
static const char* const kRoleNames[] = {"averaged", "statistic", "donor", "local"};

static uint64_t aligned(uint64_t size, uint64_t alignment) {
  return (size + alignment - 1) / alignment * alignment;
}

/* The fields of a tensor that its size holds. */
static starling_tensor tensor_of(const starling_tensor* tensors, size_t index) {
  starling_tensor tensor;
  size_t stride = tensors->size;
  memset(&tensor, 0, sizeof tensor);
  memcpy(&tensor, (const char*)tensors + index * stride,
         stride < sizeof tensor ? stride : sizeof tensor);
  return tensor;
}

static int check_tensor(starling_swarm* swarm, const starling_tensor* tensor, size_t index) {
  if (tensor->name == NULL || tensor->name[0] == 0) {
    return sl_fail(swarm, STARLING_INVALID, "tensor %zu has no name", index);
  }
  if (tensor->type < STARLING_F64 || tensor->type > STARLING_I64) {
    return sl_fail(swarm, STARLING_INVALID, "tensor %s: no type has the number %d", tensor->name,
                   tensor->type);
  }
  if (tensor->role < STARLING_AVERAGED || tensor->role > STARLING_LOCAL) {
    return sl_fail(swarm, STARLING_INVALID, "tensor %s: no role has the number %d", tensor->name,
                   tensor->role);
  }
  if (tensor->type == STARLING_I64 && tensor->role <= STARLING_STATISTIC) {
    return sl_fail(swarm, STARLING_INVALID,
                   "tensor %s holds integers: its role can be donor or local, not %s", tensor->name,
                   kRoleNames[tensor->role]);
  }
  if (tensor->rank > RANK_LIMIT || (tensor->rank > 0 && tensor->shape == NULL)) {
    return sl_fail(swarm, STARLING_INVALID, "tensor %s has rank %zu; at most %d sizes are allowed",
                   tensor->name, tensor->rank, RANK_LIMIT);
  }
  return STARLING_OK;
}

/* Counts the numbers of a tensor and puts it behind the others. */
static int place_tensor(starling_swarm* swarm, const starling_tensor* tensor, tensor_place* place) {
  uint64_t bytes = kTypeBytes[tensor->type];
  place->type = tensor->type;
  place->role = tensor->role;
  place->offset = swarm->values.bytes;
  place->count = 1;
  for (size_t k = 0; k < tensor->rank; ++k) {
    uint64_t size = tensor->shape[k];
    if (size == 0 || size > VALUES_BYTES_LIMIT / bytes / place->count) {
      return sl_fail(swarm, STARLING_INVALID,
                     "tensor %s: size %zu is %llu; 0 and more than the %llu "
                     "bytes of a segment are not allowed",
                     tensor->name, k, (unsigned long long)size,
                     (unsigned long long)VALUES_BYTES_LIMIT);
    }
    place->count *= size;
  }
  swarm->values.bytes = aligned(place->offset + place->count * bytes, ALIGNMENT);
  if (swarm->values.bytes > VALUES_BYTES_LIMIT) {
    return sl_fail(swarm, STARLING_INVALID, "all tensors together are above the %llu bytes allowed",
                   (unsigned long long)VALUES_BYTES_LIMIT);
  }
  return STARLING_OK;
}

static void add_row(text* table, const starling_tensor* tensor, const tensor_place* place) {
  sl_text_add(table, table->used > 1 ? ",{\"name\":" : "{\"name\":");
  sl_text_add_string(table, tensor->name);
  sl_text_add(table, ",\"shape\":[");
  for (size_t k = 0; k < tensor->rank; ++k) {
    sl_text_add(table, k > 0 ? ",%llu" : "%llu", (unsigned long long)tensor->shape[k]);
  }
  sl_text_add(table, "],\"dtype\":\"%s\",\"role\":\"%s\",\"offset\":%llu}",
              kTypeNames[tensor->type], kRoleNames[tensor->role],
              (unsigned long long)place->offset);
}

static int lay_out(starling_swarm* swarm, const starling_tensor* tensors, size_t count,
                   text* table) {
  sl_text_add(table, "[");
  for (size_t k = 0; k < count; ++k) {
    starling_tensor tensor = tensor_of(tensors, k);
    int code = check_tensor(swarm, &tensor, k);
    if (code == STARLING_OK) code = place_tensor(swarm, &tensor, &swarm->places[k]);
    if (code != STARLING_OK) return code;
    add_row(table, &tensor, &swarm->places[k]);
  }
  sl_text_add(table, "]");
  if (table->failed) return sl_fail(swarm, STARLING_SYSTEM, "there is no memory for the table");
  if (table->used > TABLE_BYTES_LIMIT) {
    return sl_fail(swarm, STARLING_INVALID, "a table of %zu bytes; at most %u are allowed",
                   table->used, TABLE_BYTES_LIMIT);
  }
  return STARLING_OK;
}

static int is_wide(int type) {
  return type == STARLING_F64 || type == STARLING_F32;
}

/* Half precision is too coarse for what a step is corrected by. */
static int can_shift(const starling_swarm* swarm) {
  for (size_t k = 0; k < swarm->count; ++k) {
    const tensor_place* place = &swarm->places[k];
    if (place->role == STARLING_AVERAGED && !is_wide(place->type)) return 0;
  }
  return 1;
}

/* A region behind the others, on a page of its own. */
static void place_region(starling_swarm* swarm, region* place, uint64_t bytes) {
  place->offset = aligned(swarm->bytes, PAGE_BYTES);
  place->bytes = bytes;
  swarm->bytes = place->offset + bytes;
}

/* The table follows the header. */
static void place_regions(starling_swarm* swarm, uint64_t table_bytes) {
  int corrects = swarm->options.corrects;
  uint64_t bytes = swarm->values.bytes;
  swarm->can_shift = can_shift(swarm);
  swarm->table.offset = HEADER_BYTES;
  swarm->table.bytes = table_bytes;
  swarm->bytes = HEADER_BYTES + table_bytes;
  place_region(swarm, &swarm->values, bytes);
  if (corrects || swarm->can_shift) place_region(swarm, &swarm->correction, bytes);
  if (corrects) place_region(swarm, &swarm->gradient, bytes);
  swarm->bytes = aligned(swarm->bytes, PAGE_BYTES);
}

static int map_memory(starling_swarm* swarm) {
  int descriptor = memfd_create("starling", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  swarm->memory_descriptor = descriptor;
  if (descriptor < 0 || ftruncate(descriptor, (off_t)swarm->bytes) != 0 ||
      fcntl(descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0) {
    return sl_fail(swarm, STARLING_SYSTEM, "no memory of %llu bytes to share: %s",
                   (unsigned long long)swarm->bytes, strerror(errno));
  }
  void* memory =
      mmap(NULL, (size_t)swarm->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (memory == MAP_FAILED) {
    return sl_fail(swarm, STARLING_SYSTEM, "no %llu bytes of memory could be mapped: %s",
                   (unsigned long long)swarm->bytes, strerror(errno));
  }
  swarm->memory = memory;
  return STARLING_OK;
}

int sl_segment_make(starling_swarm* swarm, const starling_tensor* tensors, size_t count) {
  if (tensors == NULL || count == 0 || count > TENSORS_LIMIT) {
    return sl_fail(swarm, STARLING_INVALID, "%zu tensors; from 1 to %d are allowed", count,
                   TENSORS_LIMIT);
  }
  if (tensors->size < sizeof(size_t) + sizeof(char*)) {
    return sl_fail(swarm, STARLING_INVALID, "the size of a tensor is %zu; set it to sizeof",
                   tensors->size);
  }
  swarm->places = calloc(count, sizeof *swarm->places);
  if (swarm->places == NULL) return sl_fail(swarm, STARLING_SYSTEM, "there is no memory");
  swarm->count = count;
  text table = {0};
  int code = lay_out(swarm, tensors, count, &table);
  if (code == STARLING_OK) {
    place_regions(swarm, table.used);
    code = map_memory(swarm);
  }
  if (code == STARLING_OK) {
    const uint64_t magic = MAGIC;
    memcpy(swarm->memory, &magic, sizeof magic);
    memcpy(swarm->memory + swarm->table.offset, table.data, table.used);
  }
  sl_text_free(&table);
  return code;
}

/* Infinity and NaN are what has no exponent bit that is 0. Integers of the width of the numbers, so
 * that the loops are vectorised. */
#define IS_FINITE_OF(bits_type, name)                                                \
  static int name(const unsigned char* values, uint64_t count, bits_type exponent) { \
    int found = 0;                                                                   \
    for (uint64_t k = 0; k < count; ++k) {                                           \
      bits_type bits;                                                                \
      memcpy(&bits, values + sizeof bits * k, sizeof bits);                          \
      found |= (bits & exponent) == exponent;                                        \
    }                                                                                \
    return !found;                                                                   \
  }

IS_FINITE_OF(uint64_t, is_finite_64)
IS_FINITE_OF(uint32_t, is_finite_32)
IS_FINITE_OF(uint16_t, is_finite_16)

static int is_finite_at(const unsigned char* values, const tensor_place* place) {
  switch (place->type) {
    case STARLING_F64:
      return is_finite_64(values, place->count, UINT64_C(0x7FF0000000000000));
    case STARLING_F32:
      return is_finite_32(values, place->count, 0x7F800000);
    case STARLING_F16:
      return is_finite_16(values, place->count, 0x7C00);
    case STARLING_BF16:
      return is_finite_16(values, place->count, 0x7F80);
    default:
      return 1;
  }
}

size_t sl_segment_fault(const starling_swarm* swarm) {
  for (size_t k = 0; k < swarm->count; ++k) {
    const tensor_place* place = &swarm->places[k];
    const unsigned char* values = swarm->memory + swarm->values.offset + place->offset;
    if (place->role == STARLING_AVERAGED && !is_finite_at(values, place)) return k;
  }
  return swarm->count;
}

static void add_64(double* values, const double* added, uint64_t count) {
  for (uint64_t k = 0; k < count; ++k) values[k] += added[k];
}

static void add_32(float* values, const float* added, uint64_t count) {
  for (uint64_t k = 0; k < count; ++k) values[k] += added[k];
}

void sl_segment_shift(starling_swarm* swarm) {
  for (size_t k = 0; k < swarm->count; ++k) {
    const tensor_place* place = &swarm->places[k];
    void* values = swarm->memory + swarm->values.offset + place->offset;
    const void* added = swarm->memory + swarm->correction.offset + place->offset;
    if (place->role != STARLING_AVERAGED) continue;
    if (place->type == STARLING_F64) add_64(values, added, place->count);
    if (place->type == STARLING_F32) add_32(values, added, place->count);
  }
}

void sl_segment_free(starling_swarm* swarm) {
  if (swarm->memory != NULL) munmap(swarm->memory, (size_t)swarm->bytes);
  if (swarm->memory_descriptor >= 0) close(swarm->memory_descriptor);
  free(swarm->places);
}
