#include "plugin/write/nic_in_use.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Whether an entry of NCCL's list, of `length` bytes, means a card: as a prefix, or with = the whole name; a
 * port that follows behind a colon tells no other card. */
static bool entry_means(const char *entry, size_t length, const char *name, bool is_exact)
{
    const char *port = memchr(entry, ':', length);
    size_t compared = port ? (size_t)(port - entry) : length;
    return compared > 0 && strncmp(name, entry, compared) == 0 && (!is_exact || !name[compared]);
}

/* NCCL_IB_HCA, NCCL_SOCKET_IFNAME: "mlx5_0,mlx5_1", "=eth0", "^docker", "^=eth0:1". */
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

/* Some port of it is up. */
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

/* How many of a folder's NCCL may use; the last of them is in `nic`. */
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
    /* What another network plugin uses is its own matter. */
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
