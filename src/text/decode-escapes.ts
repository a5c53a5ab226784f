/** A text without its escapes, with the origin of each of its characters. */
export interface DecodedText {
  readonly text: string;
  /** Place in the source of each character, and of the end; undefined where nothing was escaped. */
  readonly places: readonly number[] | undefined;
}

// A text is escaped once by a template, once by JSON, once by a URL; more is not accidental.
const MOST_LEVELS = 4;

const PERCENT = '%(?<percent>[0-9a-f]{2})';
const STRING = String.raw`\\u(?<unicode>[0-9a-f]{4})|\\u\{(?<point>[0-9a-f]{1,6})\}|\\x(?<hex>[0-9a-f]{2})|\\(?<literal>[^0-9a-z])`;
const HTML = '&#x(?<htmlHex>[0-9a-f]{1,6});|&#(?<html>[0-9]{1,7});|&(?<named>[a-z]{2,6});';

// Each kind also alone: what one encoder leaves unchanged may look like an escape to another.
const KINDS = [[PERCENT], [STRING], [HTML], [PERCENT, STRING, HTML]].map(
  (kind) => new RegExp(kind.join('|'), 'gi'),
);

const NAMED: Readonly<Record<string, string>> = {
  amp: '&',
  apos: "'",
  commat: '@',
  dollar: '$',
  equals: '=',
  gt: '>',
  lt: '<',
  num: '#',
  plus: '+',
  quot: '"',
  sol: '/',
};

/** The text itself, and with the escapes of URLs, strings and HTML removed, level by level. */
export function decodeEscapes(text: string): readonly DecodedText[] {
  const source: DecodedText = { text, places: undefined };
  return [source, ...KINDS.flatMap((escapes) => decodeLevels(source, escapes))];
}

function decodeLevels(source: DecodedText, escapes: RegExp): readonly DecodedText[] {
  const views: DecodedText[] = [];
  for (let level = 0; level < MOST_LEVELS; level += 1) {
    const decoded = decodeOnce(views.at(-1) ?? source, escapes);
    if (decoded === undefined) break;
    views.push(decoded);
  }
  return views;
}

/** A stretch of a decoded text as a stretch of its source. */
export function toSource({ places }: DecodedText, start: number, end: number) {
  return { start: places?.[start] ?? start, end: places?.[end] ?? end };
}

function decodeOnce(source: DecodedText, escapes: RegExp): DecodedText | undefined {
  const parts: string[] = [];
  const places: number[] = [];
  let end = 0;
  const copyUntil = (to: number) => {
    parts.push(source.text.slice(end, to));
    for (let at = end; at < to; at += 1) places.push(source.places?.[at] ?? at);
  };
  for (const match of source.text.matchAll(escapes)) {
    const meant = readEscape(match.groups ?? {});
    if (meant === undefined) continue;
    copyUntil(match.index);
    parts.push(meant);
    for (let unit = 0; unit < meant.length; unit += 1)
      places.push(source.places?.[match.index] ?? match.index);
    end = match.index + match[0].length;
  }
  if (parts.length === 0) return undefined;
  copyUntil(source.text.length);
  places.push(source.places?.[source.text.length] ?? source.text.length);
  return { text: parts.join(''), places };
}

function readEscape(found: Readonly<Record<string, string | undefined>>): string | undefined {
  const { percent, unicode, point, hex, literal, htmlHex, html, named } = found;
  if (literal !== undefined) return literal;
  if (named !== undefined) return Object.hasOwn(NAMED, named) ? NAMED[named] : undefined;
  const digits = percent ?? unicode ?? point ?? hex ?? htmlHex;
  const code = digits === undefined ? Number(html) : Number.parseInt(digits, 16);
  return code <= 0x10ffff ? String.fromCodePoint(code) : undefined;
}
