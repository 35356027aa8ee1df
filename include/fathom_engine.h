/* Engines of your own for fathom: ioengine=external:/path/lib.so (docs/external.md). Version 1 of this interface.
 * The library exports one function, fathom_engine. Numbers below zero are -errno. A worker calls the functions of a state from
 * one thread at a time; several workers, threads or processes, have a state each. What fathom passes is valid during the call;
 * buffers until the I/O has ended. A library starts no thread before open(). */
#ifndef FATHOM_ENGINE_H
#define FATHOM_ENGINE_H
#include <stdint.h>

#define FATHOM_ENGINE_VERSION 1
#define FATHOM_PENDING INT64_MIN

enum { FATHOM_READ = 0, FATHOM_WRITE = 1, FATHOM_TRIM = 2 };

enum {                          /* capabilities */
    FATHOM_ASYNCHRONOUS  = 1,   /* queue may answer FATHOM_PENDING; reap is there */
    FATHOM_OWN_TARGETS   = 2,   /* names of targets are the engine's; otherwise fathom makes and opens files */
    FATHOM_TRIMS         = 4,   /* queue gets trims; otherwise fathom trims files itself */
    FATHOM_DISCARDS_DATA = 8    /* what is written is discarded, and reads leave the buffer as it is */
};

enum { FATHOM_INT = 1, FATHOM_SIZE = 2, FATHOM_BOOL = 3, FATHOM_TIME = 4, FATHOM_TEXT = 5 };

struct fathom_option {
    const char *name, *default_text, *help; /* a word; as in a job file, or NULL; one line */
    uint32_t type;                          /* FATHOM_INT... */
    uint32_t reserved;
};

struct fathom_value {           /* of an option: given or default, 0 and "" without one */
    int64_t number;             /* INT; bytes of a SIZE; 0 or 1 of a BOOL; nanoseconds of a TIME */
    const char *text;           /* TEXT, otherwise NULL */
};

struct fathom_target {          /* a file, or what the engine takes the name for; the part of it that the job uses */
    const char *name;
    uint64_t start, size;
};

struct fathom_setup {
    const char *job;
    const struct fathom_value *values;      /* in the order of the options */
    const struct fathom_target *targets;
    uint32_t target_count, depth, clone;    /* I/Os in flight at most; number of this clone of the job, from 0 */
    uint32_t reads, writes, reserved;       /* 1 if the job has such I/O */
    uint8_t *buffers;                       /* depth buffers of buffer_size bytes, buffer_stride apart: to be registered */
    uint64_t buffer_stride, buffer_size;
    char *message;                          /* room for a sentence to the user, with its 0, where a call fails */
    uint64_t message_size;
};

struct fathom_io {
    uint32_t slot, operation, target, length;   /* slot: below depth, comes back with the completion */
    uint64_t offset;
    uint8_t *buffer;
    int32_t descriptor;                         /* of the open file; -1 with FATHOM_OWN_TARGETS */
    uint32_t reserved;
};

struct fathom_completion { uint32_t slot, reserved; int64_t result; };  /* result: bytes, or -errno */

struct fathom_engine {
    uint32_t version, capabilities;             /* FATHOM_ENGINE_VERSION */
    const char *help;                           /* one line */
    const struct fathom_option *options;
    uint64_t option_count;
    /* Bytes of a target; with FATHOM_OWN_TARGETS. The setup has job, values and message. */
    int64_t (*size)(const struct fathom_setup *, const char *name);
    int (*open)(const struct fathom_setup *, void **state);
    /* Bytes moved, -errno, or FATHOM_PENDING. */
    int64_t (*queue)(void *state, const struct fathom_io *);
    /* Hands over what is queued; how many I/Os were taken. NULL: queue does. */
    int (*commit)(void *state);
    /* Waits for min I/Os to end, or for this many nanoseconds (negative: forever); lists at most max; returns their number. */
    int (*reap)(void *state, uint32_t min, uint32_t max, int64_t timeout, struct fathom_completion *);
    /* Makes durable what was written to a file (descriptor) or an own target. NULL: fathom syncs files, others need nothing. */
    int (*sync)(void *state, uint32_t target, int32_t descriptor);
    /* More on an I/O that has just failed, or NULL. The function may be NULL. */
    const char *(*explain)(void *state, uint32_t slot);
    void (*close)(void *state);
};

#ifdef __cplusplus
extern "C"
#endif
/* The engine, or NULL for a version that it does not know. */
const struct fathom_engine *fathom_engine(uint32_t version);
#endif
