/* sqlstate.h: what a Postgres error means for us. One table. Pure. */
#ifndef COMMON_SQLSTATE_H
#define COMMON_SQLSTATE_H

enum sql_class {
	SQL_OK = 0,
	SQL_RETRY,    /* at once, up to three times: deadlock, serialization, lock time-out */
	SQL_OUTAGE,   /* the server's trouble: no attempt, unless a read alone brings it */
	SQL_CONTRACT, /* function, signature, constraint or right is missing: replay nothing */
	SQL_RECORD,   /* the read's own failure */
	SQL_SUSPECT,  /* unknown code or statement time-out: the read's only once it is alone */
};

/* code: five characters. The longest matching prefix of the table decides. */
enum sql_class sqlstate_class(const char *code);
const char *sql_class_name(enum sql_class c);

#endif
