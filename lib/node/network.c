/*
 * Network interfaces, and ports of InfiniBand and RoCE devices. A read of a port's counter may ask the
 * device's firmware, so a worker does that.
 */
#include "node/internal.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Interfaces of containers and virtual machines: there can be hundreds, and what they send passes a real one.
 */
static const char *const virtual[] = {"lo",  "veth",  "docker", "br-",    "cali", "cni",  "flannel",
                                      "tap", "virbr", "ifb",    "dummy",  "lxc",  "vnet", "tunl",
                                      "gre", "sit",   "ip6",    "erspan", NULL};

static int is_virtual(const char *name)
{
    for (const char *const *prefix = virtual; *prefix; prefix++)
        if (strncmp(name, *prefix, strlen(*prefix)) == 0)
            return 1;
    return 0;
}

static struct node_interface *find_interface(struct node_network *network, const char *name)
{
    for (size_t i = 0; i < network->count; i++)
        if (strcmp(network->interfaces[i].name, name) == 0)
            return &network->interfaces[i];
    if (network->count == NODE_INTERFACES || is_virtual(name))
        return NULL;
    struct node_interface *interface = &network->interfaces[network->count++];
    snprintf(interface->name, sizeof interface->name, "%s", name);
    return interface;
}

/* Whether the link is up, and its speed. An interface that is down has no speed. */
static void sample_link(struct node_interface *interface, const struct node_files *files,
                        struct node_writer *writer)
{
    char path[64], text[32];
    snprintf(path, sizeof path, "class/net/%s/operstate", interface->name);
    if (node_read(files->sys, path, text, sizeof text) > 0 && strncmp(text, "unknown", 7) != 0)
        node_put(writer, &interface->up, KIND_INTERFACE, interface->name, SERIES_LINK_UP,
                 strncmp(text, "up", 2) == 0);
    snprintf(path, sizeof path, "class/net/%s/speed", interface->name);
    int64_t speed = node_read_number(files->sys, path);
    if (speed > 0)
        node_put(writer, &interface->speed, KIND_INTERFACE, interface->name, SERIES_LINK_SPEED,
                 (double)speed);
}

void node_network_sample(struct node_network *network, const struct node_files *files,
                         struct node_writer *writer)
{
    /* Of the numbers of a line: bytes packets errs drop fifo frame compressed multicast, received and sent.
     */
    static const struct {
        enum node_metric_id metric;
        int first;
        int second; /* is added; -1: none */
    } fields[NODE_INTERFACE_COUNTERS] = {{SERIES_RECEIVED, 0, -1},      {SERIES_SENT, 8, -1},
                                         {SERIES_RECEIVE_ERRORS, 2, 4}, {SERIES_SEND_ERRORS, 10, 12},
                                         {SERIES_DROPS, 3, 11},         {SERIES_LINK_DOWNED, -1, -1}};
    char text[32 * 1024], path[64];
    if (node_read(files->proc, "net/dev", text, sizeof text) <= 0)
        return;
    for (char *line = text, *end; *line; line = *end ? end + 1 : end) {
        uint64_t numbers[16];
        int count = 0;
        end = line + strcspn(line, "\n");
        char *name = line + strspn(line, " "), *colon = memchr(name, ':', (size_t)(end - name));
        if (!colon || colon - name > 15)
            continue;
        *colon = '\0';
        struct node_interface *interface = find_interface(network, name);
        for (char *at = colon + 1, *next; count < 16 && at < end; at = next, count++) {
            numbers[count] = strtoull(at, &next, 10);
            if (next == at)
                break;
        }
        if (!interface || count < 16)
            continue;
        for (int i = 0; i < NODE_INTERFACE_COUNTERS; i++)
            if (fields[i].first >= 0)
                node_count(writer, &interface->counters[i], KIND_INTERFACE, interface->name, fields[i].metric,
                           numbers[fields[i].first] +
                               (fields[i].second >= 0 ? numbers[fields[i].second] : 0));
        sample_link(interface, files, writer);
        snprintf(path, sizeof path, "class/net/%s/carrier_down_count", interface->name);
        int64_t downs = node_read_number(files->sys, path);
        if (downs >= 0)
            node_count(writer, &interface->counters[NODE_INTERFACE_COUNTERS - 1], KIND_INTERFACE,
                       interface->name, SERIES_LINK_DOWNED, (uint64_t)downs);
    }
}

/* -------------------- ports -------------------- */

/* Files below a port's folder. Several may count for one metric. */
static const struct {
    const char *path;
    enum node_metric_id metric;
    int factor;
} port_counters[] = {
    {"counters/port_rcv_data", SERIES_RECEIVED, 4}, /* in units of four bytes */
    {"counters/port_xmit_data", SERIES_SENT, 4},
    {"counters/symbol_error", SERIES_SYMBOL_ERRORS, 1},
    {"counters/link_downed", SERIES_LINK_DOWNED, 1},
    {"counters/link_error_recovery", SERIES_LINK_RECOVERIES, 1},
    {"counters/local_link_integrity_errors", SERIES_INTEGRITY_ERRORS, 1},
    {"counters/port_rcv_errors", SERIES_PORT_ERRORS, 1},
    {"counters/port_xmit_discards", SERIES_DROPS, 1},
    {"counters/port_xmit_wait", SERIES_TRANSMIT_WAIT, 1},
    {"hw_counters/out_of_sequence", SERIES_OUT_OF_SEQUENCE, 1},
    {"hw_counters/packet_seq_err", SERIES_PACKET_SEQUENCE, 1},
    {"hw_counters/local_ack_timeout_err", SERIES_ACK_TIMEOUTS, 1},
    {"hw_counters/rnr_nak_retry_err", SERIES_RNR_RETRIES, 1},
    {"hw_counters/np_cnp_sent", SERIES_CNP_SENT, 1},
    {"hw_counters/rp_cnp_handled", SERIES_CNP_HANDLED, 1},
    {"hw_counters/np_ecn_marked_roce_packets", SERIES_ECN_MARKED, 1},
};

enum { PORT_COUNTERS = sizeof port_counters / sizeof *port_counters, PORTS = 64 };

struct port {
    char name[40]; /* "mlx5_1/2" */
    char folder[96];
    struct node_counter counters[PORT_COUNTERS];
    int32_t speed, up;
};

struct infiniband {
    struct port ports[PORTS];
    size_t count;
};

/* Calls `each` for the names in a folder; the order is that of the kernel. */
static void for_each_name(int folder, const char *path,
                          void (*each)(void *context, const char *parent, const char *name), void *context)
{
    int file = openat(folder, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *names = file >= 0 ? fdopendir(file) : NULL;
    struct dirent *entry;
    if (!names && file >= 0)
        close(file);
    while (names && (entry = readdir(names)))
        if (entry->d_name[0] != '.')
            each(context, path, entry->d_name);
    if (names)
        closedir(names);
}

static void add_port(void *context, const char *parent, const char *name)
{
    struct infiniband *all = context;
    const char *device = parent + strlen("class/infiniband/");
    if (all->count == PORTS)
        return;
    struct port *port = &all->ports[all->count++];
    snprintf(port->name, sizeof port->name, "%.*s/%.8s", (int)strcspn(device, "/") & 31, device, name);
    snprintf(port->folder, sizeof port->folder, "%.80s/%.8s", parent, name);
}

struct port_search {
    struct infiniband *all;
    int sys;
};

static void add_ports(void *context, const char *parent, const char *name)
{
    struct port_search *search = context;
    char path[96];
    snprintf(path, sizeof path, "%.40s/%.30s/ports", parent, name);
    for_each_name(search->sys, path, add_port, search->all);
}

static int infiniband_open(void *state, const struct node_files *files, struct node_writer *writer,
                           struct node_shared *shared)
{
    struct port_search search = {state, files->sys};
    if (files->sys >= 0)
        for_each_name(files->sys, "class/infiniband", add_ports, &search);
    (void)writer;
    (void)shared;
    return search.all->count > 0;
}

int64_t node_count_ports(const struct node_files *files)
{
    struct infiniband *all = calloc(1, sizeof *all);
    int64_t count = all && infiniband_open(all, files, NULL, NULL) ? (int64_t)all->count : 0;
    free(all);
    return count;
}

/* "4: ACTIVE" and "400 Gb/sec (4X NDR)" */
static void sample_state(struct port *port, const struct node_files *files, struct node_writer *writer)
{
    char path[128], text[64];
    snprintf(path, sizeof path, "%s/state", port->folder);
    if (node_read(files->sys, path, text, sizeof text) > 0)
        node_put(writer, &port->up, KIND_PORT, port->name, SERIES_LINK_UP, strstr(text, "ACTIVE") != NULL);
    snprintf(path, sizeof path, "%s/rate", port->folder);
    if (node_read(files->sys, path, text, sizeof text) > 0 && strtod(text, NULL) > 0)
        node_put(writer, &port->speed, KIND_PORT, port->name, SERIES_LINK_SPEED, strtod(text, NULL) * 1000);
}

static void infiniband_sample(void *state, struct node_round *round)
{
    struct infiniband *all = state;
    const struct node_files *files = round->files;
    struct node_writer *writer = round->writer;
    char path[128];
    node_line_begin(writer, round->since_ns, round->now_ns);
    for (size_t i = 0; i < all->count; i++) {
        struct port *port = &all->ports[i];
        snprintf(round->shared->device, sizeof round->shared->device, "%s", port->name);
        for (size_t k = 0; k < PORT_COUNTERS; k++) {
            snprintf(path, sizeof path, "%s/%s", port->folder, port_counters[k].path);
            int64_t value = node_read_number(files->sys, path);
            if (value >= 0)
                node_count(writer, &port->counters[k], KIND_PORT, port->name, port_counters[k].metric,
                           (uint64_t)value * (uint64_t)port_counters[k].factor);
        }
        sample_state(port, files, writer);
    }
    node_line_finish(writer, 0);
}

const struct node_work node_work_infiniband = {
    .name = "infiniband",
    .prefix = "i",
    .patience_ns = 5000000000,
    .open = infiniband_open,
    .sample_slow = infiniband_sample,
    .state_bytes = sizeof(struct infiniband),
};
