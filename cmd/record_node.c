/* The sampler of the node that `record` starts beside the command (lib/node), and its settings. */
#include "base/base.h"
#include "cmd/internal.h"
#include "node/node.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int record_parse_bytes(const char *text, uint64_t *bytes)
{
    static const char units[] = "kmgt";
    size_t digits = strspn(text, "0123456789");
    int is_number = digits > 0 && digits <= 19;
    const char *unit = is_number && text[digits] ? strchr(units, text[digits] | 0x20) : NULL;
    int is_whole = is_number && (unit ? !text[digits + 1] : !text[digits]);
    unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;
    uint64_t number = is_whole ? strtoull(text, NULL, 10) : 0;
    if (!is_whole || number > UINT64_MAX >> shift)
        return -1;
    *bytes = number << shift;
    return 0;
}

static int is_directory(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* An existing directory needs no permission to create it. */
int record_make_directories(char *path, struct error *error)
{
    for (size_t at = 1, length = strlen(path); at <= length; at++) {
        if (path[at] != '/' && path[at] != '\0')
            continue;
        path[at] = '\0';
        int number = mkdir(path, 0700) ? errno : 0;
        if (number && !is_directory(path))
            return error_set_errno(error, number, "cannot create directory '%s'", path);
        if (at < length)
            path[at] = '/';
    }
    return access(path, W_OK) ? error_set_errno(error, errno, "cannot write to directory '%s'", path) : 0;
}

/* The value of a variable of the plugin; `otherwise` if it is not set or makes no sense. */
static uint64_t bytes_of(const char *variable, uint64_t otherwise)
{
    const char *text = getenv(variable);
    uint64_t bytes;
    return text && record_parse_bytes(text, &bytes) == 0 ? bytes : otherwise;
}

/*
 * The directory of the traces: $NCCLPROF_DIR, absolute, in which %% stands for a percent sign. The part of
 * the path with a pattern differs between processes, so the record of the node is written above it. Returns
 * -1 if there is no such directory.
 */
static int find_directory(char path[PATH_MAX])
{
    const char *setting = getenv("NCCLPROF_DIR");
    struct error error = ERROR_INIT;
    size_t length = 0;
    int has_pattern = 0;
    if (!setting || !*setting)
        return -1;
    if (*setting != '/') {
        if (!getcwd(path, PATH_MAX - 1))
            return -1;
        length = strlen(path);
        path[length++] = '/';
    }
    size_t begin = length;
    for (; *setting && length < PATH_MAX - 1; setting++) {
        if (*setting == '%' && setting[1] != '%') {
            has_pattern = 1;
            while (length > begin && path[length - 1] != '/')
                length--;
            if (length <= begin + 1)
                return -1;
            break;
        }
        setting += *setting == '%';
        path[length++] = *setting;
    }
    path[length] = '\0';
    return has_pattern ? is_directory(path) - 1 : record_make_directories(path, &error);
}

void record_node_start(char **words, size_t word_count)
{
    char path[PATH_MAX] = "";
    struct error error = ERROR_INIT;
    struct node_options options = {.directory = path,
                                   .interval_ms = NODE_INTERVAL_MS,
                                   .most_bytes = bytes_of("NCCLPROF_MAX_BYTES", NODE_MOST_BYTES),
                                   .free_bytes = bytes_of("NCCLPROF_MIN_FREE_BYTES", NODE_FREE_DEFAULT),
                                   .words = words,
                                   .word_count = word_count};
    const char *interval = getenv("NCCLPROF_NODE_INTERVAL_MS");
    long interval_ms = interval ? strtol(interval, NULL, 10) : 0;
    if (interval_ms >= NODE_INTERVAL_LEAST_MS && interval_ms <= NODE_INTERVAL_MOST_MS) {
        options.interval_ms = (int)interval_ms;
        options.is_fixed = 1;
    }
    if (options.most_bytes > NODE_MOST_BYTES)
        options.most_bytes = NODE_MOST_BYTES;
    /* Without a record of the node the job runs as well, and nothing may be printed into its output. */
    if (find_directory(path) == 0)
        node_start(&options, &error);
}

void record_node_check(void)
{
    struct buffer text = BUFFER_INIT;
    struct error error = ERROR_INIT;
    if (node_describe(&text, &error) == 0 && text.data)
        for (const char *line = text.data; *line; line += strcspn(line, "\n") + 1)
            printf("%-8s%.*s\n", "node", (int)strcspn(line, "\n"), line);
    buffer_release(&text);
}
