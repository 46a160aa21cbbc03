/* lock FILTER -- PROGRAM ARGUMENT...: gives up new privileges, loads the system-call filter in FILTER, becomes PROGRAM.
 *
 * FILTER is an array of struct sock_filter as sandbox/isolation/seccomp.py writes it. An engine's own profile stays in force:
 * the kernel obeys the strictest of all the filters that were loaded. PROGRAM is searched for in PATH, as an engine
 * does. Nothing is run where anything fails: 125 for the filter, 126 and 127 as a shell would for the program.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static struct sock_filter code[BPF_MAXINSNS + 1];

static int fail(const char *what) {
    fprintf(stderr, "lock: %s: %s\n", what, strerror(errno));
    return 125;
}

int main(int argc, char **argv) {
    if (argc < 4 || strcmp(argv[2], "--") != 0) {
        fputs("usage: lock FILTER -- PROGRAM ARGUMENT...\n", stderr);
        return 125;
    }
    int file = open(argv[1], O_RDONLY | O_CLOEXEC);
    ssize_t size = file < 0 ? -1 : read(file, code, sizeof code);
    if (size <= 0 || size % sizeof code[0] || size > (ssize_t)(BPF_MAXINSNS * sizeof code[0])) {
        fputs("lock: FILTER cannot be read, or is no filter\n", stderr);
        return 125;
    }
    struct sock_fprog program = {.len = (unsigned short)(size / sizeof code[0]), .filter = code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return fail("no_new_privs");
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) < 0)
        return fail("seccomp");
    execvp(argv[3], argv + 3);
    int status = errno == ENOENT ? 127 : 126;
    fprintf(stderr, "lock: %s: %s\n", argv[3], strerror(errno));
    return status;
}
