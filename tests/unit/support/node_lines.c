#include "support/node_lines.h"
#include "support/cmocka_all.h"

#include <ftw.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int keep(void *context, const char *line, size_t length)
{
    struct node_lines *lines = context;
    return buffer_append(&lines->text, line, length);
}

void node_lines_begin(struct node_lines *lines)
{
    *lines = (struct node_lines){.root = "/tmp/ncclprof-unit-node-XXXXXX"};
    assert_non_null(mkdtemp(lines->root));
    node_lines_file(lines, "proc/self/schedstat", "1 1 1\n");
    node_lines_file(lines, "sys/empty", "");
    node_lines_file(lines, "dev/empty", "");
    node_files_open(&lines->files, lines->root);
    node_writer_init(&lines->writer, "", keep, lines);
    assert_int_equal(buffer_append_text(&lines->text, ""), 0);
}

static int drop(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    return remove(path);
}

void node_lines_end(struct node_lines *lines)
{
    node_files_close(&lines->files);
    node_writer_release(&lines->writer);
    buffer_release(&lines->text);
    nftw(lines->root, drop, 8, FTW_DEPTH | FTW_PHYS);
}

void node_lines_file(const struct node_lines *lines, const char *path, const char *text)
{
    char name[256];
    snprintf(name, sizeof name, "%s/%s", lines->root, path);
    for (char *at = name + strlen(lines->root) + 1; (at = strchr(at, '/')); at++) {
        *at = '\0';
        mkdir(name, 0700);
        *at = '/';
    }
    FILE *file = fopen(name, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    fclose(file);
}

void node_lines_next(struct node_lines *lines)
{
    int64_t since_ns = lines->writer.now_ns ? lines->writer.now_ns : lines->writer.zero_ns;
    node_line_begin(&lines->writer, since_ns, since_ns + 1000000000);
}

const char *node_lines_finish(struct node_lines *lines)
{
    size_t begin = lines->text.length;
    node_line_finish(&lines->writer, 1);
    assert_false(lines->writer.has_failed);
    return lines->text.data + begin;
}

double node_lines_value(const struct node_lines *lines, const char *series)
{
    char key[32];
    const char *found = strstr(lines->text.data, series), *at = found;
    double value = NAN;
    if (!found)
        return value;
    /* "12":["node","cpu_busy_share"] */
    for (int quotes = 0; quotes < 2; quotes += *at == '"')
        at--;
    snprintf(key, sizeof key, "%.*s", (int)(found - at), at);
    for (const char *next = lines->text.data; (next = strstr(next, key)); next += strlen(key))
        if (next[strlen(key)] != '[')
            value = strtod(next + strlen(key), NULL);
    return value;
}
