/** What is safe when a request fails, before the first commit as well as after it. */
export const NO_TABLE_CHANGED = 'It changed no table.';
