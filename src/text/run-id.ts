/** What a run may be called: its id is part of file names. */
export const RUN_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;

/** What is wrong with an id that does not match. */
export const RUN_ID_PROBLEM = 'must be 1 to 100 letters, digits, dots, dashes and underscores';
