/* The build ID of the running program, from the note that the linker puts into it (ELF, NT_GNU_BUILD_ID). */
#include "base/base.h"

#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Parts of a note are padded to this. */
enum { NOTE_ALIGNMENT = 4 };

static size_t padded(size_t length)
{
    return (length + NOTE_ALIGNMENT - 1) / NOTE_ALIGNMENT * NOTE_ALIGNMENT;
}

static void write_id(const unsigned char *bytes, size_t length, char *id)
{
    for (size_t i = 0; i < length && 2 * i + 2 < BUILD_ID_BYTES; i++)
        snprintf(id + 2 * i, 3, "%02x", bytes[i]);
}

static void read_notes(const unsigned char *notes, size_t length, char *id)
{
    ElfW(Nhdr) note;
    while (length >= sizeof note) {
        memcpy(&note, notes, sizeof note);
        size_t name = padded(note.n_namesz), whole = sizeof note + name + padded(note.n_descsz);
        if (whole > length)
            return;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof "GNU" &&
            memcmp(notes + sizeof note, "GNU", sizeof "GNU") == 0)
            write_id(notes + sizeof note + name, note.n_descsz, id);
        notes += whole;
        length -= whole;
    }
}

/* The first object is the program itself. */
static int read_program(struct dl_phdr_info *info, size_t bytes, void *id)
{
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_NOTE)
            read_notes((const unsigned char *)(uintptr_t)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr),
                       info->dlpi_phdr[i].p_memsz, id);
    return 1;
}

void build_id(char id[BUILD_ID_BYTES])
{
    memset(id, 0, BUILD_ID_BYTES);
    dl_iterate_phdr(read_program, id);
}
