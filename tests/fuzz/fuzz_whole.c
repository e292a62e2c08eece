/*
 * Arbitrary bytes as a trace, with an arbitrary name (its first line), through the whole program: into a
 * store, joined, and every analysis in every format. Whatever the trace contains, all of them must succeed
 * and print nothing harmful.
 */
#include "base/base.h"
#include "require.h"
#include "store/store.h"
#include "store_at_hand.h"
#include "supply.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME_BYTES = 200 };

/* Writes the file. Its name is the text before the first newline, if that can be a name. */
static int make_file(char *path, size_t path_bytes, const uint8_t *bytes, size_t length)
{
    const uint8_t *newline = memchr(bytes, '\n', length);
    size_t name = newline && newline - bytes <= NAME_BYTES ? (size_t)(newline - bytes) : 0;
    if (name == 0 || memchr(bytes, '/', name) || memchr(bytes, '\0', name) || *bytes == '.' ||
        (name == 8 && memcmp(bytes, "store.db", 8) == 0))
        return -1;
    snprintf(path, path_bytes, "%s%.*s", folder_at_hand(), (int)name, (const char *)bytes);
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (file < 0)
        return -1;
    size_t rest = length - name - 1;
    require(write(file, newline + 1, rest) == (ssize_t)rest, "a file that is written");
    close(file);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    struct error error = ERROR_INIT;
    char path[NAME_BYTES + 64], store_path[64];
    if (make_file(path, sizeof path, bytes, length))
        return 0;
    snprintf(store_path, sizeof store_path, "%sstore.db", folder_at_hand());
    unlink(store_path);
    struct store *store = store_open(store_path, STORE_CREATE, &error);
    require(store != NULL, "a store");
    store_execute(store, "PRAGMA synchronous=OFF", NULL);
    if (ingest_at_hand(store, path, &error) == 0)
        analyse_at_hand(store, &(struct supply){NULL, NULL});
    store_close(store);
    unlink(path);
    return 0;
}
