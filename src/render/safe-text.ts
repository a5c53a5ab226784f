import { escapeForTerminal } from '../text/redact.ts';

/** Text from the server or a file as one line that cannot control the terminal or fake a second line. */
export function toSafeLine(text: string): string {
  return escapeForTerminal(text.replaceAll(/\r\n|\r|\n/g, ' '));
}

/** The same for a message of Sluice, which may have several lines. */
export function toSafeBlock(text: string): string {
  return text.split('\n').map(toSafeLine).join('\n');
}

/** The same for a cell of a table, where a line break shows as `\n`. */
export function toSafeCell(text: string): string {
  return escapeForTerminal(text.replaceAll('\r', String.raw`\r`).replaceAll('\n', String.raw`\n`));
}
