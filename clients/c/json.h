/* Reads and writes the little JSON that the records hold. */
#ifndef STARLING_CLIENTS_C_JSON_H
#define STARLING_CLIENTS_C_JSON_H

#include <stddef.h>
#include <stdint.h>

/* A text that grows; `failed` once there was no memory, and from then on nothing is added. */
typedef struct {
  char* data; /* owned; ends with 0 where `used` is above 0 */
  size_t used;
  size_t room;
  int failed;
} text;

void sl_text_add(text* out, const char* format, ...);
/* Adds a JSON string, quotes included. */
void sl_text_add_string(text* out, const char* value);
/* Empties it and frees its memory. */
void sl_text_free(text* out);

/* Where the value of `key` begins in the object `json`; NULL where there is no such key, or the
 * text is no object. Keys with escapes are not found. */
const char* sl_json_find(const char* json, const char* key);

/* Each returns `otherwise` where there is no such key, or its value is of another kind. */
uint64_t sl_json_count(const char* json, const char* key, uint64_t otherwise);
double sl_json_number(const char* json, const char* key, double otherwise);
int sl_json_is_true(const char* json, const char* key);
/* Copies a string of at most `room` bytes with its 0; a longer one is cut, and "" where there is
 * none. */
void sl_json_string(const char* json, const char* key, char* out, size_t room);

#endif
