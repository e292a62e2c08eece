#ifndef NCCLPROF_HTML_PAGE_H
#define NCCLPROF_HTML_PAGE_H

#include "base/buffer.h"
#include "base/error.h"

struct output;

/*
 * One self-contained document: nothing is loaded, and its own Content-Security-Policy lets nothing run but
 * the script that it names by digest. Starts out zeroed; release it.
 */
struct html_page {
    struct buffer body;     /* the sections */
    struct buffer contents; /* links to them */
    struct buffer data;     /* of the script (page.js): members of the array "runs" */
};

/*
 * A section with a heading; `id` is the page's own. `link`: what leads to it at the page's head; NULL:
 * nothing does. Both return -1 when memory is out.
 */
int html_section_begin(struct html_page *page, const char *id, const char *heading, const char *link);
int html_section_end(struct html_page *page);

/* The document. `lead` stands below its title. */
int html_page_write(const struct html_page *page, const char *title, const char *lead, struct output *output,
                    struct error *error);
void html_page_release(struct html_page *page);

#endif
