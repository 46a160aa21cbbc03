/* relay PORT SOCKET [USER [ADDRESS]]: copies bytes between 127.0.0.1:PORT and the unix socket SOCKET, and does nothing else.
 *
 * It looks at no byte, keeps no log and believes nobody; the gateway behind the socket does not believe it either.
 * One thread, fixed memory: CAP connections of two buffers each. One connection more is accepted and closed at once,
 * so that it is refused and not left waiting. "ready\n" goes to standard output once the port listens. relay.py is
 * the same program for where nothing can be compiled; one suite of tests runs on both.
 *
 * With USER it is root of a network namespace that was made for it: it takes the right to read there what the kernel
 * counts for the whole machine from everybody else, and becomes USER. The first takes no capability, the second two.
 * With ADDRESS, of 127.0.0.0/8, that is the loopback's own, from which whoever names none connects, and there is no IPv6:
 * the kernel counts connections between two addresses for all namespaces together (sandbox/boxes/place.py). That takes a third.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <ftw.h>
#include <grp.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { CAP = 64, SIZE = 16384 };

/* Files in /proc/net that say nothing but what is in one network namespace, as in sandbox/boxes/place.py. */
static const char *const own[] = {"arp",  "dev",  "fib_trie", "if_inet6", "icmp", "icmp6", "igmp", "igmp6", "ipv6_route",
                                  "packet", "raw", "raw6", "route", "tcp", "tcp6", "udp", "udp6", "unix"};

/* One direction: from[ends that are read] -> buffer -> to. */
struct flow {
    int from, to;
    size_t start, end;
    int eof, closed; /* nothing more comes; and the other side has been told */
    char bytes[SIZE];
};

struct pair {
    int used;
    struct flow out, back; /* agent to gateway, gateway to agent */
};

static struct pair pairs[CAP];
static struct sockaddr_un gateway = {.sun_family = AF_UNIX};

static void drop(struct pair *pair) {
    close(pair->out.from);
    close(pair->out.to);
    pair->used = 0;
}

static int dial(void) {
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&gateway, sizeof gateway) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

static void reset(struct flow *flow, int from, int to) {
    flow->from = from;
    flow->to = to;
    flow->start = flow->end = 0;
    flow->eof = flow->closed = 0;
}

static void admit(int listener) {
    int agent = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (agent < 0)
        return;
    setsockopt(agent, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int)); /* a call is many small writes */
    for (int i = 0; i < CAP; i++) {
        if (pairs[i].used)
            continue;
        int other = dial();
        if (other < 0)
            break;
        reset(&pairs[i].out, agent, other);
        reset(&pairs[i].back, other, agent);
        pairs[i].used = 1;
        return;
    }
    close(agent);
}

static int again(void) { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

/* Move what can be moved in one direction; -1 where the connection is beyond use. */
static int move(struct flow *flow) {
    if (!flow->eof && flow->start == flow->end) {
        ssize_t got = read(flow->from, flow->bytes, SIZE);
        if (got < 0)
            return again() ? 0 : -1;
        flow->start = 0;
        flow->end = (size_t)got;
        flow->eof = got == 0;
    }
    if (flow->start < flow->end) {
        ssize_t put = send(flow->to, flow->bytes + flow->start, flow->end - flow->start, MSG_NOSIGNAL);
        if (put < 0)
            return again() ? 0 : -1;
        flow->start += (size_t)put;
    }
    if (flow->eof && flow->start == flow->end && !flow->closed) {
        shutdown(flow->to, SHUT_WR);
        flow->closed = 1;
    }
    return 0;
}

static short wish(const struct flow *reading, const struct flow *writing) {
    short events = 0;
    if (!reading->eof && reading->start == reading->end)
        events |= POLLIN;
    if (writing->start < writing->end)
        events |= POLLOUT;
    return events;
}

static void serve(int listener) {
    for (;;) {
        struct pollfd polls[1 + 2 * CAP];
        polls[0] = (struct pollfd){.fd = listener, .events = POLLIN};
        for (int i = 0; i < CAP; i++) {
            struct pair *pair = &pairs[i];
            short agent = pair->used ? wish(&pair->out, &pair->back) : 0;
            short other = pair->used ? wish(&pair->back, &pair->out) : 0;
            /* a descriptor with nothing to wait for is left out: its hang-up would be told over and over */
            polls[1 + 2 * i] = (struct pollfd){.fd = agent ? pair->out.from : -1, .events = agent};
            polls[2 + 2 * i] = (struct pollfd){.fd = other ? pair->out.to : -1, .events = other};
        }
        if (poll(polls, 1 + 2 * CAP, -1) < 0)
            continue;
        for (int i = 0; i < CAP; i++) {
            struct pair *pair = &pairs[i];
            if (!pair->used || !(polls[1 + 2 * i].revents | polls[2 + 2 * i].revents))
                continue;
            if (move(&pair->out) < 0 || move(&pair->back) < 0 || (pair->out.closed && pair->back.closed))
                drop(pair);
        }
        if (polls[0].revents)
            admit(listener);
    }
}

static int closing(const char *path, const struct stat *seen, int kind, struct FTW *at) {
    (void)seen;
    if (kind != FTW_F)
        return 0;
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        if (strcmp(path + at->base, own[i]) == 0)
            return 0;
    return chmod(path, 0400);
}

static int become(unsigned user) {
    return user == 0 || nftw("/proc/self/net", closing, 8, FTW_PHYS) || setgroups(0, NULL) ||
           setresgid(user, user, user) || setresuid(user, user, user);
}

static int readdress(const char *text) {
    struct ifreq request = {.ifr_name = "lo"};
    struct sockaddr_in *address = (struct sockaddr_in *)&request.ifr_addr;
    struct { /* linux/ipv6.h: struct in6_ifreq */
        struct in6_addr address;
        unsigned prefix;
        int interface;
    } old = {IN6ADDR_LOOPBACK_INIT, 128, (int)if_nametoindex("lo")};
    address->sin_family = AF_INET;
    int four = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), six = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int failed = inet_pton(AF_INET, text, &address->sin_addr) != 1 || ioctl(four, SIOCSIFADDR, &request) < 0;
    if (!failed && six >= 0 && ioctl(six, SIOCDIFADDR, &old) < 0)
        failed = errno != EADDRNOTAVAIL && errno != ENODEV;
    close(four);
    close(six);
    return failed;
}

int main(int argc, char **argv) {
    int on = 1, port = argc >= 3 && argc <= 5 ? atoi(argv[1]) : 0;
    if (port < 1 || port > 65535 || strlen(argv[2]) >= sizeof gateway.sun_path) {
        fputs("usage: relay PORT SOCKET [USER [ADDRESS]]\n", stderr);
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    strcpy(gateway.sun_path, argv[2]);
    if (argc == 5 && readdress(argv[4])) {
        perror("relay: taking ADDRESS");
        return 1;
    }
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_port = htons((unsigned short)port)};
    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (listener < 0 || setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0 ||
        bind(listener, (struct sockaddr *)&here, sizeof here) < 0 || listen(listener, CAP) < 0) {
        perror("relay");
        return 1;
    }
    if (argc >= 4 && become((unsigned)atoi(argv[3]))) {
        perror("relay: becoming USER");
        return 1;
    }
    if (write(1, "ready\n", 6) != 6)
        return 1;
    serve(listener);
}
