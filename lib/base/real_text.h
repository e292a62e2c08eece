#ifndef NCCLPROF_BASE_REAL_TEXT_H
#define NCCLPROF_BASE_REAL_TEXT_H

/* The shortest decimal number that reads back as the same double. */
enum { REAL_TEXT_BYTES = 40 };
void real_text(double value, char text[REAL_TEXT_BYTES]);

#endif
