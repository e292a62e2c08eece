/* A thread of the plugin's own beside those of the job. */
#ifndef PLUGIN_WRITE_THREAD_H
#define PLUGIN_WRITE_THREAD_H

/* What a debugger shows of the calling thread. */
void thread_name(const char *name);

/* None of the job's signals is handled on it, and nobody joins it: it may hang in a file system. 0 or -1. */
int thread_start(void *(*run)(void *), void *argument);

#endif
