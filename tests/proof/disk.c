/* A disk that fails, as the processes see it that are started with this library before all others.
 *
 * It stands between a program (Python, SQLite in it, git) and the C library. What it does is said by
 * a file of memory that the test shares with all of them: `struct plan`, as `disk.py` packs it.
 * Only paths under `root` are on this disk; one that a reader opens is let through.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

struct plan {
    int error;        /* what fails, fails with this; 0: nothing does; -1: the step is a death */
    int nth;          /* the first step that fails */
    int ever;         /* whether each one after it fails, too */
    int count;        /* steps so far */
    int hits;         /* steps that failed */
    int no_links;     /* what link(2) fails with, always; 0: there are links */
    int coarse;       /* whether times of files are even seconds */
    int ignores_case; /* whether names that differ in case alone are one */
    char step[64];    /* the first that failed */
    char kinds[128];  /* the steps that count, each between spaces; empty: all */
    char only[128];   /* what the path of one must hold; empty: any */
    char root[512];
};

static struct plan *plan;

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("DISK_PLAN");
    int fd = path ? REAL(open)(path, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    void *found = mmap(NULL, sizeof *plan, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (found != MAP_FAILED)
        plan = found;
}

/* The whole path of what is named, or of what a descriptor is open on; empty if it is no file. */
static const char *whole(int dir, const char *path, char *into)
{
    char link[64], base[PATH_MAX] = "";
    if (path && path[0] == '/')
        return path;
    if (dir == AT_FDCWD) {
        if (!getcwd(base, sizeof base))
            return "";
    } else {
        snprintf(link, sizeof link, "/proc/self/fd/%d", dir);
        ssize_t size = readlink(link, base, sizeof base - 1);
        base[size < 0 ? 0 : size] = 0;
    }
    if (!path || !path[0])
        strcpy(into, base);
    else if (snprintf(into, PATH_MAX, "%s/%s", base, path) >= PATH_MAX)
        return "";
    return into;
}

static int is_here(const char *path)
{
    return plan && plan->root[0] && !strncmp(path, plan->root, strlen(plan->root));
}

/* Count a step; whether it fails, with errno set. */
static int fails(const char *kind, int dir, const char *path)
{
    char into[PATH_MAX], spaced[32];
    int before = errno;
    if (!plan || !plan->error)
        return 0;
    snprintf(spaced, sizeof spaced, " %s ", kind);
    if (plan->kinds[0] && !strstr(plan->kinds, spaced))
        return 0;
    const char *named = whole(dir, path, into);
    errno = before;
    if (!is_here(named) || (plan->only[0] && !strstr(named, plan->only)))
        return 0;
    int count = __sync_add_and_fetch(&plan->count, 1);
    if (count != plan->nth && !(plan->ever && count > plan->nth))
        return 0;
    if (!__sync_fetch_and_add(&plan->hits, 1)) {
        const char *last = strrchr(named, '/');
        snprintf(plan->step, sizeof plan->step, "%s %.40s", kind, last ? last + 1 : named);
    }
    /* With git and whatever else the command has started, all of one group. */
    if (plan->error < 0)
        kill(0, SIGKILL);
    errno = plan->error;
    return 1;
}

/* The name under which something lies, where case does not count: that of the first who made it. */
static const char *found(int dir, const char *path, char *into)
{
    char given[PATH_MAX];
    int before = errno;
    struct stat there;
    if (!plan || !plan->ignores_case || !path || !path[0])
        return path;
    const char *named = whole(dir, path, given);
    if (!is_here(named) || !REAL(fstatat)(AT_FDCWD, named, &there, AT_SYMLINK_NOFOLLOW)) {
        errno = before;
        return path;
    }
    strcpy(into, plan->root);
    for (const char *at = named + strlen(plan->root); *at;) {
        char part[NAME_MAX + 1];
        size_t end = strlen(into), size = strcspn(at += strspn(at, "/"), "/");
        if (!size || size > NAME_MAX || end + size + 2 > PATH_MAX)
            break;
        memcpy(part, at, size), part[size] = 0, at += size;
        DIR *names = REAL(opendir)(into);
        for (struct dirent *name; names && (name = readdir(names));)
            if (!strcasecmp(name->d_name, part)) {
                strcpy(part, name->d_name);
                break;
            }
        if (names)
            closedir(names);
        snprintf(into + end, PATH_MAX - end, "/%s", part);
    }
    errno = before;
    return into;
}

static int writes(int flags) { return flags & (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC); }

static mode_t mode_of(int flags, va_list rest)
{
    return flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
}

#define OPEN(name)                                                                                 \
    int name(const char *path, int flags, ...)                                                     \
    {                                                                                              \
        char into[PATH_MAX];                                                                       \
        va_list rest;                                                                              \
        va_start(rest, flags);                                                                     \
        mode_t mode = mode_of(flags, rest);                                                        \
        va_end(rest);                                                                              \
        if (writes(flags) && fails("open", AT_FDCWD, path))                                        \
            return -1;                                                                             \
        return REAL(name)(found(AT_FDCWD, path, into), flags, mode);                               \
    }
#define OPENAT(name)                                                                               \
    int name(int dir, const char *path, int flags, ...)                                            \
    {                                                                                              \
        char into[PATH_MAX];                                                                       \
        va_list rest;                                                                              \
        va_start(rest, flags);                                                                     \
        mode_t mode = mode_of(flags, rest);                                                        \
        va_end(rest);                                                                              \
        if (writes(flags) && fails("open", dir, path))                                             \
            return -1;                                                                             \
        return REAL(name)(dir, found(dir, path, into), flags, mode);                               \
    }
OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)

/* A disk that is full takes a part of what is written before it says so. */
#define WRITE(name, given, passed)                                                                 \
    ssize_t name given                                                                             \
    {                                                                                              \
        if (fails("write", fd, NULL)) {                                                            \
            int error = errno;                                                                     \
            if (error == ENOSPC && size > 1)                                                       \
                size /= 2, REAL(name) passed;                                                      \
            errno = error;                                                                         \
            return -1;                                                                             \
        }                                                                                          \
        return REAL(name) passed;                                                                  \
    }
WRITE(write, (int fd, const void *from, size_t size), (fd, from, size))
WRITE(pwrite, (int fd, const void *from, size_t size, off_t at), (fd, from, size, at))
WRITE(pwrite64, (int fd, const void *from, size_t size, off64_t at), (fd, from, size, at))

#define ON_FD(kind, name, given, passed)                                                           \
    int name given { return fails(kind, fd, NULL) ? -1 : REAL(name) passed; }
ON_FD("fsync", fsync, (int fd), (fd))
ON_FD("fsync", fdatasync, (int fd), (fd))
ON_FD("truncate", ftruncate, (int fd, off_t size), (fd, size))
ON_FD("truncate", ftruncate64, (int fd, off64_t size), (fd, size))

#define ON_PATH(kind, name, given, dir, passed)                                                    \
    int name given                                                                                 \
    {                                                                                              \
        char into[PATH_MAX];                                                                       \
        if (fails(kind, dir, path))                                                                \
            return -1;                                                                             \
        path = found(dir, path, into);                                                             \
        return REAL(name) passed;                                                                  \
    }
ON_PATH("unlink", unlink, (const char *path), AT_FDCWD, (path))
ON_PATH("unlink", unlinkat, (int dir, const char *path, int flags), dir, (dir, path, flags))
ON_PATH("unlink", rmdir, (const char *path), AT_FDCWD, (path))
ON_PATH("mkdir", mkdir, (const char *path, mode_t mode), AT_FDCWD, (path, mode))
ON_PATH("mkdir", mkdirat, (int dir, const char *path, mode_t mode), dir, (dir, path, mode))

int access(const char *path, int how)
{
    char into[PATH_MAX];
    return REAL(access)(found(AT_FDCWD, path, into), how);
}

DIR *opendir(const char *path)
{
    char into[PATH_MAX];
    return REAL(opendir)(found(AT_FDCWD, path, into));
}

int rename(const char *from, const char *to)
{
    char one[PATH_MAX], other[PATH_MAX];
    if (fails("rename", AT_FDCWD, to))
        return -1;
    return REAL(rename)(found(AT_FDCWD, from, one), found(AT_FDCWD, to, other));
}

static int has_no_links(const char *to)
{
    char into[PATH_MAX];
    if (!plan || !plan->no_links || !is_here(whole(AT_FDCWD, to, into)))
        return 0;
    errno = plan->no_links;
    return 1;
}

int link(const char *from, const char *to)
{
    char one[PATH_MAX], other[PATH_MAX];
    if (has_no_links(to) || fails("link", AT_FDCWD, to))
        return -1;
    return REAL(link)(found(AT_FDCWD, from, one), found(AT_FDCWD, to, other));
}

int linkat(int from_dir, const char *from, int to_dir, const char *to, int flags)
{
    if (has_no_links(to) || fails("link", to_dir, to))
        return -1;
    return REAL(linkat)(from_dir, from, to_dir, to, flags);
}

static int seen(int result, struct stat *into, int dir, const char *path)
{
    char at[PATH_MAX];
    if (!result && plan && plan->coarse && is_here(whole(dir, path, at))) {
        into->st_mtim.tv_sec &= ~1L, into->st_mtim.tv_nsec = 0;
        into->st_ctim.tv_sec &= ~1L, into->st_ctim.tv_nsec = 0;
    }
    return result;
}

#define STAT(name, type)                                                                           \
    int name(const char *path, struct type *into)                                                  \
    {                                                                                              \
        char at[PATH_MAX];                                                                         \
        path = found(AT_FDCWD, path, at);                                                          \
        return seen(REAL(name)(path, into), (struct stat *)into, AT_FDCWD, path);                  \
    }
STAT(stat, stat)
STAT(lstat, stat)
STAT(stat64, stat64)
STAT(lstat64, stat64)

#define FSTAT(name, type)                                                                          \
    int name(int fd, struct type *into)                                                            \
    {                                                                                              \
        return seen(REAL(name)(fd, into), (struct stat *)into, fd, NULL);                          \
    }
FSTAT(fstat, stat)
FSTAT(fstat64, stat64)

#define FSTATAT(name, type)                                                                        \
    int name(int dir, const char *path, struct type *into, int flags)                              \
    {                                                                                              \
        char at[PATH_MAX];                                                                         \
        path = found(dir, path, at);                                                               \
        return seen(REAL(name)(dir, path, into, flags), (struct stat *)into, dir, path);           \
    }
FSTATAT(fstatat, stat)
FSTATAT(fstatat64, stat64)
