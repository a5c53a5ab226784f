import { escapeForTerminal } from '../text/redact.ts';

/** Text that is HTML already: only `html` and constants make it. */
export class Markup {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** What may stand in a template; false and undefined leave nothing. */
export type Part = string | number | Markup | false | undefined | readonly Part[];

// Names and messages have no bounds of their own, and 300 of them must not fill a file.
const MOST_CHARACTERS = 1_000;

/**
 * Writes HTML. Every value that is not `Markup` is escaped: whatever a server or a config names, it is text.
 */
export function html(texts: TemplateStringsArray, ...parts: readonly Part[]): Markup {
  const written = dense(texts).map((text, at) => (at === 0 ? text : write(parts[at - 1]) + text));
  return new Markup(written.join(''));
}

const known = new WeakMap<TemplateStringsArray, readonly string[]>();

// The indentation of a template is for those who read it here, and would be a third of the file.
function dense(texts: TemplateStringsArray): readonly string[] {
  const done = known.get(texts) ?? texts.map((text) => text.replaceAll(/\n\s*/g, '\n'));
  known.set(texts, done);
  return done;
}

function write(part: Part): string {
  if (part === undefined || part === false) return '';
  if (part instanceof Markup) return part.text;
  if (typeof part === 'number') return String(part);
  if (typeof part === 'string') return escapeText(cutText(part, MOST_CHARACTERS));
  return part.map(write).join('');
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
  '`': '&#96;',
};

/** The one way text reaches the file: no markup, no control, no character that turns the direction of others. */
export function escapeText(text: string): string {
  return escapeForTerminal(text).replaceAll(/[&<>"'`]/g, (character) => ENTITIES[character] ?? '');
}

/** At most so many characters, with an ellipsis where some are missing; no character is cut in half. */
export function cutText(text: string, most: number): string {
  if (text.length <= most) return text;
  const characters = [...text.slice(0, most * 2 + 2)];
  return characters.length <= most ? text : `${characters.slice(0, most - 1).join('')}…`;
}

/** A name of the source's or the config's: short, of its own direction, and broken after underscores first. */
export function nameText(name: string, most = 80): Markup {
  const parts = cutText(name, most).split(/(?<=_)(?=[^_])/);
  return html`<bdi>${parts.map((part, at) => html`${at > 0 && wordBreak}${part}`)}</bdi>`;
}

const wordBreak = new Markup('<wbr>');
