/* Finds the daemon's socket and carries records over it. */
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "clients/c/swarm.h"

#define FOLDER_BYTES 64 /* of a folder's path; a socket in it has the others of PATH_BYTES */

/* Adds the sockets of a folder of this user's own to `found`, and returns how many there are. */
static size_t look_into(const char* folder, char* first, text* found) {
  struct stat about;
  if (stat(folder, &about) != 0 || about.st_uid != getuid()) return 0;
  DIR* open_folder = opendir(folder);
  if (open_folder == NULL) return 0;
  size_t count = 0;
  for (struct dirent* entry = readdir(open_folder); entry; entry = readdir(open_folder)) {
    char path[PATH_BYTES];
    size_t length = strlen(entry->d_name);
    if (length < 5 || strcmp(entry->d_name + length - 5, ".sock") != 0) continue;
    int size = snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    if (size >= (int)sizeof path || stat(path, &about) != 0 || !S_ISSOCK(about.st_mode)) continue;
    if (first[0] == 0) memcpy(first, path, (size_t)size + 1);
    sl_text_add(found, found->used > 0 ? ", %s" : "%s", path);
    ++count;
  }
  closedir(open_folder);
  return count;
}

static int find_only(starling_swarm* swarm) {
  char temporary[FOLDER_BYTES];
  char runtime[PATH_BYTES] = "";
  const char* variable = getenv("XDG_RUNTIME_DIR");
  snprintf(temporary, sizeof temporary, "/tmp/starling-%lu", (unsigned long)getuid());
  if (variable != NULL && variable[0] != 0) {
    snprintf(runtime, sizeof runtime, "%s/starling", variable);
  }
  text found = {0};
  size_t count = runtime[0] != 0 ? look_into(runtime, swarm->path, &found) : 0;
  count += look_into(temporary, swarm->path, &found);
  int code = STARLING_OK;
  if (count != 1) {
    code = sl_fail(swarm, STARLING_NOT_FOUND,
                   "%zu sockets of daemons in %s%s%s%s%s; name one in starling_options or in "
                   "STARLING_SOCKET (trainer.socket of /v1/status)",
                   count, runtime, runtime[0] != 0 ? " and " : "", temporary, count > 0 ? ": " : "",
                   found.used > 0 && !found.failed ? found.data : "");
  }
  sl_text_free(&found);
  return code;
}

/* Sets swarm->path. */
static int find_socket(starling_swarm* swarm) {
  const char* named = swarm->options.socket;
  if (named == NULL) named = getenv("STARLING_SOCKET");
  swarm->path[0] = 0;
  if (named == NULL || named[0] == 0) return find_only(swarm);
  if (strlen(named) >= PATH_BYTES) {
    return sl_fail(swarm, STARLING_NOT_FOUND,
                   "the path %s is longer than the %d bytes that a unix socket allows", named,
                   PATH_BYTES - 1);
  }
  strcpy(swarm->path, named);
  return STARLING_OK;
}

int sl_wire_connect(starling_swarm* swarm) {
  int code = find_socket(swarm);
  if (code != STARLING_OK) return code;
  struct sockaddr_un address;
  memset(&address, 0, sizeof address);
  address.sun_family = AF_UNIX;
  memcpy(address.sun_path, swarm->path, strlen(swarm->path));
  sl_wire_drop(swarm);
  swarm->connection = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (swarm->connection < 0) {
    return sl_fail(swarm, STARLING_SYSTEM, "no socket: %s", strerror(errno));
  }
  int status;
  do {
    status = connect(swarm->connection, (const struct sockaddr*)&address, sizeof address);
  } while (status != 0 && errno == EINTR);
  if (status != 0) {
    int reason = errno;
    sl_wire_drop(swarm);
    return sl_fail(swarm, STARLING_NOT_FOUND,
                   "nobody listens at %s: %s; start the daemon, or name "
                   "its socket",
                   swarm->path, strerror(reason));
  }
  return STARLING_OK;
}

static int gone(starling_swarm* swarm) {
  return sl_fail(swarm, STARLING_GONE,
                 "the daemon at %s closed the connection; it was killed or lost", swarm->path);
}

int sl_wire_send(starling_swarm* swarm, const text* record, int with_segment) {
  if (record->failed) return sl_fail(swarm, STARLING_SYSTEM, "there is no memory for a record");
  if (record->used > RECORD_BYTES_LIMIT) {
    return sl_fail(swarm, STARLING_INVALID, "a record of %zu bytes; at most %d are allowed",
                   record->used, RECORD_BYTES_LIMIT);
  }
  if (swarm->connection < 0) return gone(swarm);
  union {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
  } control;
  struct iovec part = {record->data, record->used};
  struct msghdr message;
  memset(&message, 0, sizeof message);
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (with_segment) {
    memset(&control, 0, sizeof control);
    message.msg_control = control.bytes;
    message.msg_controllen = sizeof control.bytes;
    struct cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(header), &swarm->memory_descriptor, sizeof(int));
  }
  ssize_t sent;
  do {
    sent = sendmsg(swarm->connection, &message, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent < 0 ? gone(swarm) : STARLING_OK;
}

/* Waits until there is something to receive. */
static int wait_for_record(starling_swarm* swarm, double seconds) {
  struct pollfd waiting = {swarm->connection, POLLIN, 0};
  int status;
  do {
    status = poll(&waiting, 1, seconds > 2e6 ? 2000000000 : (int)(1e3 * seconds) + 1);
  } while (status < 0 && errno == EINTR);
  if (status != 0) return STARLING_OK;
  return sl_fail(swarm, STARLING_TIMED_OUT, "the daemon at %s did not answer in time", swarm->path);
}

int sl_wire_receive(starling_swarm* swarm, double seconds) {
  if (swarm->connection < 0) return gone(swarm);
  if (seconds >= 0) {
    int code = wait_for_record(swarm, seconds);
    if (code != STARLING_OK) return code;
  }
  /* A peer that closes with unread data resets once; what it sent before can be read yet. */
  ssize_t got;
  int resets = 0;
  do {
    got = recv(swarm->connection, swarm->record, RECORD_BYTES_LIMIT, 0);
  } while (got < 0 && (errno == EINTR || (errno == ECONNRESET && resets++ == 0)));
  if (got <= 0) return gone(swarm);
  swarm->record[got] = 0;
  char kind[16];
  sl_json_string(swarm->record, "kind", kind, sizeof kind);
  if (strcmp(kind, "refused") != 0) return STARLING_OK;
  char reason[TEXT_BYTES / 2];
  sl_json_string(swarm->record, "reason", reason, sizeof reason);
  return sl_fail(swarm, STARLING_REFUSED, "the daemon at %s refuses this trainer: %s", swarm->path,
                 reason);
}

void sl_wire_drop(starling_swarm* swarm) {
  if (swarm->connection >= 0) close(swarm->connection);
  swarm->connection = -1;
}
