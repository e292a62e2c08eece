/* Which of several samplers for one directory writes. */
#include "node/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* The name begins with a NUL, so it is in no file system. Users do not meet: the number of the user is in it.
 */
static int make_address(struct sockaddr_un *address, socklen_t *length, int directory)
{
    struct stat status;
    if (fstat(directory, &status))
        return -1;
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    int name =
        snprintf(address->sun_path + 1, sizeof address->sun_path - 1, "ncclprof-node-%ld-%llx-%llx",
                 (long)geteuid(), (unsigned long long)status.st_dev, (unsigned long long)status.st_ino);
    *length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)name);
    return 0;
}

/* Any user can take any name. */
static int is_own_user(int connection)
{
    struct ucred other;
    socklen_t length = sizeof other;
    return getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &other, &length) == 0 && other.uid == geteuid();
}

static int tell_root(int connection, struct node_root root)
{
    char text[64];
    int length = snprintf(text, sizeof text, "%ld %llu", (long)root.pid, (unsigned long long)root.start);
    return send(connection, text, (size_t)length, MSG_NOSIGNAL) == length ? 0 : -1;
}

/* Tries again a few times, because the one that writes may end in between. */
int node_peers_join(struct node_peers *peers, const char *directory, struct node_root root)
{
    struct sockaddr_un address;
    socklen_t length;
    *peers = (struct node_peers){
        .directory = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC), .listener = -1, .leader = -1};
    if (make_address(&address, &length, peers->directory))
        return 1;
    for (int attempt = 0; attempt < 5; attempt++) {
        int file = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (file < 0)
            return 1;
        if (bind(file, (struct sockaddr *)&address, length) == 0 && listen(file, NODE_ROOTS) == 0) {
            peers->listener = file;
            return 1;
        }
        close(file);
        file = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
        if (file >= 0 && connect(file, (struct sockaddr *)&address, length) == 0 && is_own_user(file) &&
            tell_root(file, root) == 0) {
            peers->leader = file;
            return 0;
        }
        if (file >= 0)
            close(file);
        usleep(20000);
    }
    return 1;
}

void node_peers_leave(struct node_peers *peers)
{
    for (size_t i = 0; i < peers->count; i++)
        close(peers->peers[i].connection);
    if (peers->listener >= 0)
        close(peers->listener);
    if (peers->leader >= 0)
        close(peers->leader);
    if (peers->directory >= 0)
        close(peers->directory);
    *peers = (struct node_peers){.directory = -1, .listener = -1, .leader = -1};
}

/* Returns 1 if a message came, 0 if there is none, -1 if the other one has ended. */
static int hear(struct node_peer *peer)
{
    char text[64];
    uint64_t numbers[2];
    ssize_t length = recv(peer->connection, text, sizeof text - 1, MSG_DONTWAIT);
    if (length < 0)
        return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? 0 : -1;
    if (length == 0)
        return -1;
    text[length] = '\0';
    if (node_numbers(text, numbers, 2) != 2 || numbers[0] == 0 || numbers[0] > INT32_MAX)
        return -1;
    peer->root = (struct node_root){(pid_t)numbers[0], numbers[1]};
    return 1;
}

int node_peers_hear(struct node_peers *peers)
{
    int is_changed = 0, file;
    while (peers->listener >= 0 &&
           (file = accept4(peers->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
        if (peers->count < NODE_ROOTS && is_own_user(file))
            peers->peers[peers->count++] = (struct node_peer){.connection = file};
        else
            close(file);
    }
    for (size_t i = 0; i < peers->count;) {
        int outcome = hear(&peers->peers[i]);
        is_changed |= outcome != 0;
        if (outcome >= 0) {
            i++;
            continue;
        }
        close(peers->peers[i].connection);
        peers->peers[i] = peers->peers[--peers->count];
    }
    return is_changed;
}
