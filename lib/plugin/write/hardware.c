/* Finds the GPU and the network card of the process in /proc and /sys, for the Place line of a trace. */
#include "plugin/write/write.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * True if an entry of NCCL's list, `length` bytes long, selects a card: by a prefix, or with = by the whole
 * name. A port after a colon does not change the card.
 */
static bool entry_means(const char *entry, size_t length, const char *name, bool is_exact)
{
    const char *port = memchr(entry, ':', length);
    size_t compared = port ? (size_t)(port - entry) : length;
    return compared > 0 && strncmp(name, entry, compared) == 0 && (!is_exact || !name[compared]);
}

/* Format of NCCL_IB_HCA and NCCL_SOCKET_IFNAME: "mlx5_0,mlx5_1", "=eth0", "^docker", "^=eth0:1". */
static bool list_allows(const char *list, const char *name)
{
    bool excludes = *list == '^';
    list += excludes;
    bool is_exact = *list == '=';
    list += is_exact;
    for (const char *entry = list; *entry;) {
        size_t length = strcspn(entry, ",");
        if (entry_means(entry, length, name, is_exact))
            return !excludes;
        entry += length + (entry[length] == ',');
    }
    return excludes;
}

static bool reads_as(const char *path, const char *beginning)
{
    char text[32] = "";
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t length = file >= 0 ? read(file, text, sizeof(text) - 1) : -1;
    if (file >= 0)
        close(file);
    return length > 0 && strncmp(text, beginning, strlen(beginning)) == 0;
}

/* True if a port of the card is up. */
static bool is_active(const char *root, const char *name)
{
    char path[768];
    snprintf(path, sizeof(path), "%s/sys/class/infiniband/%s/ports", root, name);
    DIR *ports = opendir(path);
    bool found = false;
    for (const struct dirent *port = ports ? readdir(ports) : NULL; port && !found; port = readdir(ports)) {
        char state[1152];
        snprintf(state, sizeof(state), "%s/%s/state", path, port->d_name);
        found = port->d_name[0] != '.' && reads_as(state, "4:");
    }
    if (ports)
        closedir(ports);
    return found;
}

static bool is_up(const char *root, const char *name)
{
    char path[768];
    snprintf(path, sizeof(path), "%s/sys/class/net/%s/operstate", root, name);
    return reads_as(path, "up");
}

/* Returns how many cards of a folder NCCL may use. The last of them is written to `nic`. */
static int list_cards(const char *root, const char *folder, const char *list, char *nic, size_t size)
{
    char path[512];
    int count = 0;
    bool is_infiniband = strcmp(folder, "infiniband") == 0;
    snprintf(path, sizeof(path), "%s/sys/class/%s", root, folder);
    DIR *cards = opendir(path);
    for (const struct dirent *card = cards ? readdir(cards) : NULL; card; card = readdir(cards)) {
        const char *name = card->d_name;
        if (name[0] == '.' || !list_allows(list, name) || !(is_infiniband ? is_active : is_up)(root, name))
            continue;
        snprintf(nic, size, "%s", name);
        count++;
    }
    if (cards)
        closedir(cards);
    return count;
}

static const char *setting(const char *name, const char *otherwise)
{
    const char *value = getenv(name);
    return value && *value ? value : otherwise;
}

void nic_settings_read(struct nic_settings *settings)
{
    settings->is_other = setting("NCCL_NET_PLUGIN", NULL) || setting("NCCL_NET", NULL);
    settings->is_socket = strcmp(setting("NCCL_IB_DISABLE", "0"), "0") != 0;
    snprintf(settings->cards, sizeof(settings->cards), "%s", setting("NCCL_IB_HCA", "^"));
    snprintf(settings->interfaces, sizeof(settings->interfaces), "%s",
             setting("NCCL_SOCKET_IFNAME", "^lo,docker"));
}

void nic_in_use_find(char *nic, size_t size, const struct nic_settings *settings, const char *root)
{
    nic[0] = '\0';
    /* The card of another network plugin cannot be determined. */
    if (settings->is_other)
        return;
    char verbs[512];
    snprintf(verbs, sizeof(verbs), "%s/dev/infiniband", root);
    /* A container may see cards that it cannot use. */
    bool has_cards = !settings->is_socket && access(verbs, X_OK) == 0;
    int count = !has_cards ? 0 : list_cards(root, "infiniband", settings->cards, nic, size);
    if (count == 0)
        count = list_cards(root, "net", settings->interfaces, nic, size);
    if (count != 1)
        nic[0] = '\0';
}

enum { GPUS_MOST = 64, TEXT_BYTES = 4096 };

/*
 * At start, CUDA opens each visible device equally often (4 times; up to 7 times with other libraries), and
 * the device on which it makes a context 16 more times (driver 580 on H100). So the device in use is open at
 * least this many times as often as any other.
 */
enum { TIMES_AS_OFTEN = 2 };

/* A GPU of the machine that the process has open. */
struct device {
    int minor; /* of /dev/nvidiaN */
    int opened;
    char bus[24];
    char uuid[64];
    char model[64];
};

struct devices {
    struct device items[GPUS_MOST]; /* sorted by bus */
    int count;
};

/* Returns -1 if the text is not a device number or the number is too large. */
static int read_minor(const char *text)
{
    char *end;
    size_t digits = strspn(text, "0123456789");
    if (digits == 0 || digits > 3)
        return -1;
    long minor = strtol(text, &end, 10);
    return *end || minor >= GPUS_MOST ? -1 : (int)minor;
}

/* Counts how often /dev/nvidiaN is open, for each N. */
static void count_opened(const char *root, int opened[GPUS_MOST])
{
    char path[512];
    snprintf(path, sizeof(path), "%s/proc/self/fd", root);
    DIR *list = opendir(path);
    if (!list)
        return;
    for (const struct dirent *entry = readdir(list); entry; entry = readdir(list)) {
        char target[32];
        ssize_t length = readlinkat(dirfd(list), entry->d_name, target, sizeof(target) - 1);
        target[length > 0 ? length : 0] = '\0';
        int minor = strncmp(target, "/dev/nvidia", 11) == 0 ? read_minor(target + 11) : -1;
        if (minor >= 0)
            opened[minor]++;
    }
    closedir(list);
}

/* Copies the text after a name and a colon at the beginning of a line. */
static void read_field(const char *text, const char *name, char *value, size_t size)
{
    size_t length = strlen(name);
    const char *line = text;
    while (line && strncmp(line, name, length) != 0) {
        line = strchr(line, '\n');
        line = line ? line + 1 : NULL;
    }
    value[0] = '\0';
    if (!line)
        return;
    line += length;
    line += strspn(line, ": \t");
    snprintf(value, size, "%.*s", (int)strcspn(line, "\n"), line);
}

static bool read_device(const char *root, const char *name, struct device *device)
{
    char path[512];
    char text[TEXT_BYTES];
    char minor[16];
    if (snprintf(path, sizeof(path), "%s/proc/driver/nvidia/gpus/%s/information", root, name) >=
        (int)sizeof(path))
        return false;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = file >= 0 ? read(file, text, sizeof(text) - 1) : -1;
    if (file >= 0)
        close(file);
    if (length <= 0)
        return false;
    text[length] = '\0';
    read_field(text, "Device Minor", minor, sizeof(minor));
    read_field(text, "Bus Location", device->bus, sizeof(device->bus));
    read_field(text, "GPU UUID", device->uuid, sizeof(device->uuid));
    read_field(text, "Model", device->model, sizeof(device->model));
    device->minor = read_minor(minor);
    /* Some containers cannot see it, and "GPU-????" is shown until the driver knows it. */
    if (strchr(device->uuid, '?'))
        device->uuid[0] = '\0';
    return device->minor >= 0 && device->bus[0];
}

static int by_bus(const void *a, const void *b)
{
    const struct device *left = a;
    const struct device *right = b;
    return strcmp(left->bus, right->bus);
}

static void list_devices(const char *root, struct devices *devices)
{
    int opened[GPUS_MOST] = {0};
    char path[512];
    count_opened(root, opened);
    snprintf(path, sizeof(path), "%s/proc/driver/nvidia/gpus", root);
    DIR *list = opendir(path);
    if (!list)
        return;
    for (const struct dirent *entry = readdir(list); entry && devices->count < GPUS_MOST;
         entry = readdir(list)) {
        struct device *device = &devices->items[devices->count];
        if (entry->d_name[0] == '.' || !read_device(root, entry->d_name, device) ||
            opened[device->minor] == 0)
            continue;
        device->opened = opened[device->minor];
        devices->count++;
    }
    closedir(list);
    qsort(devices->items, (size_t)devices->count, sizeof(devices->items[0]), by_bus);
}

/* Returns the index in the list; -1: not certain. */
static int find_used(const struct devices *devices)
{
    int used = -1;
    for (int i = 0; i < devices->count; i++)
        if (used < 0 || devices->items[i].opened > devices->items[used].opened)
            used = i;
    for (int i = 0; i < devices->count; i++)
        if (i != used && devices->items[i].opened * TIMES_AS_OFTEN > devices->items[used].opened)
            return -1;
    return used;
}

/* True if CUDA_VISIBLE_DEVICES does not change the order of the devices. */
static bool keeps_order(const char *visible)
{
    long last = -1;
    while (visible && *visible) {
        char *end;
        long number = strtol(visible, &end, 10);
        if (end == visible || (*end && *end != ',') || number <= last)
            return false;
        last = number;
        visible = *end ? end + 1 : end;
    }
    return true;
}

void gpu_settings_read(struct gpu_settings *settings)
{
    const char *order = getenv("CUDA_DEVICE_ORDER");
    settings->is_by_bus = order && strcmp(order, "PCI_BUS_ID") == 0;
    settings->keeps_order = keeps_order(getenv("CUDA_VISIBLE_DEVICES"));
}

/* By default CUDA sorts devices by speed, and devices of equal speed by bus. */
static bool are_alike(const struct devices *devices)
{
    for (int i = 1; i < devices->count; i++)
        if (strcmp(devices->items[i].model, devices->items[0].model) != 0)
            return false;
    return true;
}

void gpu_in_use_find(struct gpu_in_use *gpu, const struct gpu_settings *settings, const char *root)
{
    struct devices devices = {.count = 0};
    *gpu = (struct gpu_in_use){.number = -1};
    list_devices(root, &devices);
    int used = find_used(&devices);
    if (used < 0)
        return;
    snprintf(gpu->bus, sizeof(gpu->bus), "%s", devices.items[used].bus);
    snprintf(gpu->uuid, sizeof(gpu->uuid), "%s", devices.items[used].uuid);
    if (devices.count == 1 || (settings->keeps_order && (settings->is_by_bus || are_alike(&devices))))
        gpu->number = used;
}
