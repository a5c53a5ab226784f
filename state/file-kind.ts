/**
 * The entry of `_sluice.meta` of a file that was made from the files of several accounts. It says which kind of file
 * that is; the state of an account has no such entry.
 */
export const FILE_KIND = 'kind';
/** The entry that says what it was made from, as JSON. */
export const FILE_SOURCES = 'sources';
/** The entry that says which config it belongs to: its path from the file's folder. */
export const FILE_CONFIG = 'config';
/** Entry with a checksum of the rows and views of the file; missing where it is too large to read in every sync. */
export const FILE_CONTENT = 'content';
