#include "clients/c/json.h"

#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_LIMIT 64 /* of nested values in a record */

static int text_reserve(text* out, size_t more) {
  if (out->failed) return 0;
  if (out->used + more + 1 <= out->room) return 1;
  size_t room = 2 * (out->used + more + 1);
  char* data = realloc(out->data, room);
  if (data == NULL) {
    out->failed = 1;
    return 0;
  }
  out->data = data;
  out->room = room;
  return 1;
}

void sl_text_add(text* out, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int size = vsnprintf(NULL, 0, format, arguments);
  va_end(arguments);
  if (size < 0 || !text_reserve(out, (size_t)size)) return;
  va_start(arguments, format);
  vsnprintf(out->data + out->used, (size_t)size + 1, format, arguments);
  va_end(arguments);
  out->used += (size_t)size;
}

void sl_text_add_string(text* out, const char* value) {
  sl_text_add(out, "\"");
  for (; *value != 0; ++value) {
    unsigned char byte = (unsigned char)*value;
    if (byte == '"' || byte == '\\') {
      sl_text_add(out, "\\%c", byte);
    } else if (byte < 0x20) {
      sl_text_add(out, "\\u%04x", byte);
    } else {
      sl_text_add(out, "%c", byte);
    }
  }
  sl_text_add(out, "\"");
}

void sl_text_free(text* out) {
  free(out->data);
  memset(out, 0, sizeof *out);
}

static const char* skip_space(const char* at) {
  return at + strspn(at, " \t\r\n");
}

/* Behind the string that begins at `at`; NULL where it has no end. */
static const char* skip_string(const char* at) {
  for (++at; *at != 0; ++at) {
    if (*at == '"') return at + 1;
    if (*at == '\\' && *++at == 0) return NULL;
  }
  return NULL;
}

/* Behind the value that begins at `at`; NULL where it has no end. */
static const char* skip_value(const char* at) {
  int depth = 0;
  do {
    at = skip_space(at);
    if (*at == '"') {
      at = skip_string(at);
      if (at == NULL) return NULL;
    } else if (*at == '{' || *at == '[') {
      if (++depth > DEPTH_LIMIT) return NULL;
      ++at;
    } else if (*at == '}' || *at == ']') {
      --depth;
      ++at;
    } else if (*at == ',' || *at == ':') {
      if (depth == 0) return NULL; /* there is no value */
      ++at;
    } else {
      size_t length = strcspn(at, " \t\r\n,:{}[]\"");
      if (length == 0) return NULL;
      at += length;
    }
  } while (depth > 0);
  return depth == 0 ? at : NULL;
}

const char* sl_json_find(const char* json, const char* key) {
  const char* at = skip_space(json);
  if (*at++ != '{') return NULL;
  size_t length = strlen(key);
  for (;;) {
    at = skip_space(at);
    if (*at != '"') return NULL;
    const char* name = at + 1;
    const char* end = skip_string(at);
    if (end == NULL) return NULL;
    at = skip_space(end);
    if (*at++ != ':') return NULL;
    at = skip_space(at);
    if ((size_t)(end - 1 - name) == length && memcmp(name, key, length) == 0) return at;
    at = skip_value(at);
    if (at == NULL) return NULL;
    at = skip_space(at);
    if (*at++ != ',') return NULL;
  }
}

double sl_json_number(const char* json, const char* key, double otherwise) {
  const char* at = sl_json_find(json, key);
  if (at == NULL || strchr("-0123456789", *at) == NULL || *at == 0) return otherwise;
  char digits[64];
  size_t length = strspn(at, "-+.0123456789eE");
  if (length >= sizeof digits) return otherwise;
  memcpy(digits, at, length);
  digits[length] = 0;
  /* strtod expects the point of the caller's locale. */
  char* point = strchr(digits, '.');
  if (point != NULL) *point = *localeconv()->decimal_point;
  return strtod(digits, NULL);
}

uint64_t sl_json_count(const char* json, const char* key, uint64_t otherwise) {
  const char* at = sl_json_find(json, key);
  if (at == NULL || *at < '0' || *at > '9') return otherwise;
  return strtoull(at, NULL, 10);
}

int sl_json_is_true(const char* json, const char* key) {
  const char* at = sl_json_find(json, key);
  return at != NULL && strncmp(at, "true", 4) == 0;
}

/* Puts a character of Unicode into UTF-8, four bytes at most; returns how many. */
static size_t put_utf8(unsigned long character, char* out) {
  if (character < 0x80) {
    out[0] = (char)character;
    return 1;
  }
  size_t tail = character < 0x800 ? 1 : character < 0x10000 ? 2 : 3;
  static const unsigned char kLead[] = {0, 0xC0, 0xE0, 0xF0};
  out[0] = (char)(kLead[tail] | (character >> (6 * tail)));
  for (size_t k = 1; k <= tail; ++k) {
    out[k] = (char)(0x80 | ((character >> (6 * (tail - k))) & 0x3F));
  }
  return tail + 1;
}

/* The four hexadecimal digits at `at`; 0 where they are none. */
static unsigned long hex4(const char* at) {
  char digits[5] = {0};
  for (int k = 0; k < 4 && at[k] != 0; ++k) digits[k] = at[k];
  return strspn(digits, "0123456789abcdefABCDEF") == 4 ? strtoul(digits, NULL, 16) : 0;
}

/* Reads the escape behind a backslash at *at, moves *at to its last byte, and returns the
 * character; 0 where it is none. */
static unsigned long unescape(const char** at) {
  static const char kNames[] = "nrtbf";
  static const char kMeant[] = "\n\r\t\b\f";
  const char* named = strchr(kNames, **at);
  if (named != NULL) return (unsigned char)kMeant[named - kNames];
  if (**at != 'u') return (unsigned char)**at;
  unsigned long character = hex4(*at + 1);
  if (character == 0) return 0;
  *at += 4;
  if (character >= 0xD800 && character < 0xDC00 && (*at)[1] == '\\' && (*at)[2] == 'u') {
    unsigned long low = hex4(*at + 3);
    if (low < 0xDC00 || low > 0xDFFF) return 0;
    *at += 6;
    return 0x10000 + ((character - 0xD800) << 10) + (low - 0xDC00);
  }
  return character;
}

void sl_json_string(const char* json, const char* key, char* out, size_t room) {
  const char* at = sl_json_find(json, key);
  size_t used = 0;
  if (at != NULL && *at == '"' && skip_string(at) != NULL) {
    for (++at; *at != '"' && used + 5 <= room; ++at) {
      if (*at != '\\') {
        out[used++] = *at;
        continue;
      }
      ++at;
      unsigned long character = unescape(&at);
      used += put_utf8(character == 0 ? '?' : character, out + used);
    }
  }
  out[used] = 0;
}
