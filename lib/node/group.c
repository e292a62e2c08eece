/*
 * Control groups of the job: whether they are frozen, and how often their CPU quota stopped them. Of cgroup
 * v2, and of the hierarchies `freezer` and `cpu` of v1 where a process is in these.
 */
#include "node/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Finds the group of a process: "0::/job" of v2, "4:cpu,cpuacct:/job" of v1, in /proc/PID/cgroup. Writes the
 * folder of its hierarchy below /sys, and the path of the group in it. Returns whether it is of v1; -1: none.
 */
static int find_group(const struct node_files *files, const char *process, const char *controller,
                      char hierarchy[NODE_GROUP_BYTES], char group[NODE_GROUP_BYTES])
{
    char path[40], text[4096];
    int found = -1;
    snprintf(path, sizeof path, "%s/cgroup", process);
    if (node_read(files->proc, path, text, sizeof text) <= 0)
        return -1;
    size_t named = strlen(controller);
    for (const char *line = text; *line && found < 1; line += strcspn(line, "\n"), line += *line == '\n') {
        const char *names = strchr(line, ':'), *place = names ? strchr(names + 1, ':') : NULL;
        if (!place || line + strcspn(line, "\n") < place)
            continue;
        int is_listed = place == names + 1;
        for (const char *name = names + 1; name < place && !is_listed; name += strcspn(name, ",:") + 1)
            is_listed = strcspn(name, ",:") == named && memcmp(name, controller, named) == 0;
        if (!is_listed)
            continue;
        found = place > names + 1;
        snprintf(hierarchy, NODE_GROUP_BYTES, found ? "fs/cgroup/%s" : "fs/cgroup", controller);
        snprintf(group, NODE_GROUP_BYTES, "%.*s", (int)strcspn(place + 1, "\n"), place + 1);
        if (strcmp(group, "/") == 0)
            group[0] = '\0';
    }
    return found;
}

/* Goes to the group around this one. Returns 0 at the root. */
static int go_up(char *group)
{
    char *slash = strrchr(group, '/');
    if (slash)
        *slash = '\0';
    return slash != NULL;
}

/* -------------------- frozen -------------------- */

static int is_frozen(const struct node_files *files, const char *path)
{
    char text[512];
    if (!path[0] || node_read(files->sys, path, text, sizeof text) <= 0)
        return -1;
    return strncmp(text, "FROZEN", 6) == 0 || node_number_after(text, "frozen ") == 1;
}

void node_freezer_find(const struct node_files *files, const char *process, char path[NODE_FREEZER_BYTES])
{
    char hierarchy[NODE_GROUP_BYTES], group[NODE_GROUP_BYTES];
    int is_old = find_group(files, process, "freezer", hierarchy, group);
    path[0] = '\0';
    if (is_old < 0)
        return;
    /* In a container the paths may be those of the host, while it sees its own group as the root. */
    do {
        snprintf(path, NODE_FREEZER_BYTES, "%s%s/%s", hierarchy, group,
                 is_old ? "freezer.state" : "cgroup.events");
    } while (is_frozen(files, path) < 0 && go_up(group));
    if (is_frozen(files, path) < 0)
        path[0] = '\0';
}

int node_freezer_look(struct node_freezer *freezer, const struct node_files *files, const char *path)
{
    if (!freezer->is_read || strcmp(freezer->path, path) != 0) {
        snprintf(freezer->path, sizeof freezer->path, "%s", path);
        freezer->is_frozen = is_frozen(files, path);
        freezer->is_read = 1;
    }
    return freezer->is_frozen;
}

/* -------------------- the CPU quota -------------------- */

/*
 * Of the groups around the job, any can have a quota: that which stopped it most often counts. The kernel
 * also counts the time for which it stopped the group, but of each CPU, so that their sum says little.
 */
void node_quota_sample(struct node_quota *quota, const struct node_files *files, struct node_writer *writer,
                       pid_t job)
{
    char hierarchy[NODE_GROUP_BYTES], group[NODE_GROUP_BYTES], process[16], path[NODE_FREEZER_BYTES];
    struct node_quota most = {.level = -1};
    int level = 0;
    snprintf(process, sizeof process, "%ld", (long)job);
    if (!job || find_group(files, process, "cpu", hierarchy, group) < 0)
        return;
    do {
        char text[4096];
        snprintf(path, sizeof path, "%s%s/cpu.stat", hierarchy, group);
        int is_there = node_read(files->sys, path, text, sizeof text) > 0;
        int64_t periods = is_there ? node_number_after(text, "nr_periods ") : -1,
                stopped = is_there ? node_number_after(text, "nr_throttled ") : -1;
        if (periods >= 0 && stopped >= 0 && (most.level < 0 || stopped > most.stopped))
            most = (struct node_quota){.level = level, .periods = periods, .stopped = stopped};
        level++;
    } while (go_up(group));
    if (most.level < 0)
        return;
    most.id = quota->id;
    int64_t periods = most.periods - quota->periods, stopped = most.stopped - quota->stopped;
    if (quota->is_known && quota->level == most.level && periods >= 0 && stopped >= 0)
        node_put(writer, &most.id, KIND_NODE, NULL, SERIES_QUOTA_WAIT,
                 periods == 0         ? 0
                 : stopped >= periods ? 1
                                      : (double)stopped / (double)periods);
    most.is_known = 1;
    *quota = most;
}
