/* Preloaded into every process: writes down which host it looks up or connects to and which files it opens for
   writing, from native code too, one line each in the file LOG. Nothing beyond this machine is reached. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static void note(const char *kind, const char *what) {
  char line[4300];
  int kept = errno, n = snprintf(line, sizeof line, "%s %s\n", kind, what);
  int fd = (int)syscall(SYS_openat, AT_FDCWD, LOG, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (fd >= 0) {
    ssize_t done = write(fd, line, (size_t)n);
    (void)done;
    close(fd);
  }
  errno = kept;
}

static int is_elsewhere(const struct sockaddr *to) {
  char text[INET6_ADDRSTRLEN + 8] = "", host[INET6_ADDRSTRLEN] = "";
  int port = 0, here = 1;
  if (to && to->sa_family == AF_INET) {
    const struct sockaddr_in *v4 = (const void *)to;
    inet_ntop(AF_INET, &v4->sin_addr, host, sizeof host);
    port = ntohs(v4->sin_port);
    here = (ntohl(v4->sin_addr.s_addr) >> 24) == 127 || v4->sin_addr.s_addr == 0;
  } else if (to && to->sa_family == AF_INET6) {
    const struct sockaddr_in6 *v6 = (const void *)to;
    inet_ntop(AF_INET6, &v6->sin6_addr, host, sizeof host);
    port = ntohs(v6->sin6_port);
    here = !strcmp(host, "::1") || !strcmp(host, "::") || !strncmp(host, "::ffff:127.", 11);
  }
  /* A name server on this machine asks others. */
  if (here && port != 53) return 0;
  snprintf(text, sizeof text, "%s:%d", host, port);
  note("host", text);
  errno = ENETUNREACH;
  return 1;
}

static int is_foreign_name(const char *name) {
  char own[256] = "";
  unsigned char address[16];
  gethostname(own, sizeof own - 1);
  if (!name || !*name || !strcmp(name, "localhost") || !strcmp(name, own)) return 0;
  if (inet_pton(AF_INET, name, address) == 1 || inet_pton(AF_INET6, name, address) == 1) return 0;
  note("host", name);
  return 1;
}

int connect(int fd, const struct sockaddr *to, socklen_t length) {
  return is_elsewhere(to) ? -1 : REAL(connect)(fd, to, length);
}

ssize_t sendto(int fd, const void *data, size_t size, int flags, const struct sockaddr *to, socklen_t length) {
  return is_elsewhere(to) ? -1 : REAL(sendto)(fd, data, size, flags, to, length);
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags) {
  return is_elsewhere(message->msg_name) ? -1 : REAL(sendmsg)(fd, message, flags);
}

int getaddrinfo(const char *name, const char *port, const struct addrinfo *hints, struct addrinfo **found) {
  return is_foreign_name(name) ? EAI_FAIL : REAL(getaddrinfo)(name, port, hints, found);
}

struct hostent *gethostbyname(const char *name) {
  return is_foreign_name(name) ? NULL : REAL(gethostbyname)(name);
}

static void note_file(int folder, const char *path) {
  char full[4200], base[2100] = "", link[64];
  if (*path != '/') {
    ssize_t n;
    snprintf(link, sizeof link, folder == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/%d", folder);
    if ((n = readlink(link, base, sizeof base - 2)) > 0) base[n] = '/';
  }
  snprintf(full, sizeof full, "%s%s", base, path);
  note("file", full);
}

static int writes(int flags) { return (flags & (O_WRONLY | O_RDWR | O_CREAT)) != 0; }

#define MODE(flags)                                  \
  mode_t mode = 0;                                   \
  if ((flags) & (O_CREAT | O_TMPFILE)) {             \
    va_list rest;                                    \
    va_start(rest, flags);                           \
    mode = va_arg(rest, mode_t);                     \
    va_end(rest);                                    \
  }                                                  \
  if (writes(flags)) note_file(folder, path)

#define OPENS(name)                                                                   \
  int name(const char *path, int flags, ...) {                                        \
    const int folder = AT_FDCWD;                                                      \
    MODE(flags);                                                                      \
    return REAL(name)(path, flags, mode);                                             \
  }                                                                                   \
  int name##at(int folder, const char *path, int flags, ...) {                        \
    MODE(flags);                                                                      \
    return REAL(name##at)(folder, path, flags, mode);                                 \
  }
OPENS(open)
int open64(const char *path, int flags, ...) {
  const int folder = AT_FDCWD;
  MODE(flags);
  return REAL(open)(path, flags, mode);
}
int openat64(int folder, const char *path, int flags, ...) {
  MODE(flags);
  return REAL(openat)(folder, path, flags, mode);
}

FILE *fopen(const char *path, const char *mode) {
  if (strpbrk(mode, "wa+")) note_file(AT_FDCWD, path);
  return REAL(fopen)(path, mode);
}
FILE *fopen64(const char *path, const char *mode) {
  if (strpbrk(mode, "wa+")) note_file(AT_FDCWD, path);
  return REAL(fopen)(path, mode);
}

int mkdir(const char *path, mode_t mode) {
  int made = REAL(mkdir)(path, mode);
  if (!made) note_file(AT_FDCWD, path);
  return made;
}
