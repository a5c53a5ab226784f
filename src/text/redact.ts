import { decodeEscapes, type DecodedText, toSource } from './decode-escapes.ts';
import { mapTexts } from './map-texts.ts';

const REDACTED = '[redacted]';
// Anything shorter would mask ordinary words; no real key is this short.
const SHORTEST_SECRET = 4;
const SHORTEST_FORM = 6;
// Half a key is a leak, wherever a text was cut; shorter pieces are as likely to be words.
const SHORTEST_PIECE = 8;
const LONGEST_LEAST_PIECE = 12;

/** One form of a secret, and a pattern for places where it or a part of it may be. */
interface Needle {
  readonly form: string;
  readonly lower: string;
  /** A shorter stretch of the form says nothing. */
  readonly leastLength: number;
  readonly pieces: RegExp;
}

interface Span {
  readonly start: number;
  readonly end: number;
}

/**
 * Replaces every secret in a text, and every piece of a cut secret that is not a word: plain, in any mix of
 * URL, JSON, HTML and string escapes, in hex, and in base64, even if it is only a part of what was encoded
 * (`user:secret`). Ignores case.
 */
export function redact(text: string, secrets: readonly string[]): string {
  const needles = secrets.flatMap(listNeedles);
  if (needles.length === 0 || text.length < SHORTEST_SECRET) return text;
  const spans = decodeEscapes(text).flatMap((view) => findSpans(view, needles));
  if (spans.length === 0) return text;
  return replaceSpans(
    text,
    spans.toSorted((a, b) => a.start - b.start),
  );
}

/** Masks secrets in every text of a plain value, and leaves the rest unchanged. */
export function redactDeep<T>(value: T, secrets: readonly string[]): T {
  return mapTexts(value, (text) => redact(text, secrets));
}

const known = new Map<string, readonly Needle[]>();
// More than the keys of all accounts in one config: beyond it, a line costs many times as much.
const MOST_KNOWN = 1_024;

/** The forms of a secret; cached, since every log line needs them. */
function listNeedles(secret: string): readonly Needle[] {
  const listed = known.get(secret);
  if (listed !== undefined) return listed;
  const needles = [...new Set(listForms(secret))].map(buildNeedle);
  if (known.size >= MOST_KNOWN) known.clear();
  known.set(secret, needles);
  return needles;
}

function listForms(secret: string): readonly string[] {
  if (secret.length < SHORTEST_SECRET) return [];
  const bytes = Buffer.from(secret, 'utf8');
  const cores = [0, 1, 2].map((offset) => encodeBase64Core(bytes, offset));
  const encoded = [...cores, ...cores.map(toUrlSafe), bytes.toString('hex'), bytes.toString('latin1')];
  // Decoding finds the URL form too, unless the text before it ends in `%` and takes its first letters.
  const inUrl = encodeURIComponent(secret.toWellFormed());
  return [secret, inUrl, ...encoded.filter((form) => form.length >= SHORTEST_FORM)];
}

/** The base64 characters that the secret alone decides when `offset` other bytes (modulo 3) precede it. */
function encodeBase64Core(bytes: Buffer, offset: number): string {
  const whole = Buffer.concat([Buffer.alloc(offset), bytes]).toString('base64');
  const first = Math.ceil((offset * 8) / 6);
  const last = Math.floor(((offset + bytes.length) * 8) / 6);
  return whole.slice(first, last);
}

function toUrlSafe(form: string): string {
  return form.replaceAll('+', '-').replaceAll('/', '_');
}

// String.toLowerCase changes the length of some texts, and positions with it.
function toLowerAscii(text: string): string {
  return text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

function buildNeedle(form: string): Needle {
  const length = Math.min(form.length, SHORTEST_PIECE);
  const leastLength = Math.max(length, Math.min(Math.ceil(form.length / 2), LONGEST_LEAST_PIECE));
  // Every stretch of the least length holds one of these whole, though they are few.
  const stride = leastLength - length + 1;
  const places = Array.from({ length: Math.ceil((form.length - length + 1) / stride) }, (_, n) => n * stride);
  const lower = toLowerAscii(form);
  const pieces = places.map((at) => escapeForRegExp(lower.slice(at, at + length)));
  return { form, lower, leastLength, pieces: new RegExp(pieces.join('|'), 'g') };
}

function escapeForRegExp(text: string): string {
  return text.replaceAll(
    /[^a-z0-9]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

function findSpans(view: DecodedText, needles: readonly Needle[]): readonly Span[] {
  const text = toLowerAscii(view.text);
  return needles.flatMap((needle) => {
    const spans: Span[] = [];
    needle.pieces.lastIndex = 0;
    for (let found = needle.pieces.exec(text); found !== null; found = needle.pieces.exec(text)) {
      const stretch = findStretch(text, found.index, needle, found[0]);
      if (stretch !== undefined) spans.push(toSource(view, stretch.start, stretch.end));
      needle.pieces.lastIndex = stretch?.end ?? found.index + 1;
    }
    return spans;
  });
}

/** The longest stretch around a piece that a text and a form have in common, if it tells the form apart. */
function findStretch(text: string, at: number, needle: Needle, piece: string): Span | undefined {
  const { form, lower, leastLength } = needle;
  let longest: Span | undefined;
  for (let formAt = lower.indexOf(piece); formAt !== -1; formAt = lower.indexOf(piece, formAt + 1)) {
    let before = 0;
    while (before < Math.min(at, formAt) && text[at - before - 1] === lower[formAt - before - 1]) before += 1;
    let length = piece.length;
    while (formAt + length < lower.length && text[at + length] === lower[formAt + length]) length += 1;
    const span = { start: at - before, end: at + length };
    const size = span.end - span.start;
    const isWhole = size === form.length;
    const isPiece = size >= leastLength && isTelling(form.slice(formAt - before, formAt + length));
    if (!isWhole && !isPiece) continue;
    if (longest === undefined || size > longest.end - longest.start) longest = span;
  }
  return longest;
}

// A piece that may be a word, a name or a number would mask ordinary text: `warehouse-`, `2026-01-31`.
function isTelling(piece: string): boolean {
  return /[a-z]/i.test(piece) && /[A-Z0-9]/.test(piece);
}

function replaceSpans(text: string, sorted: readonly Span[]): string {
  const parts: string[] = [];
  let end = 0;
  for (const span of sorted) {
    if (span.start > end || parts.length === 0) parts.push(text.slice(end, span.start), REDACTED);
    end = Math.max(end, span.end);
  }
  return parts.join('') + text.slice(end);
}

// C0, DEL and C1 controls; line separators; zero-width, directional and tag characters; lone surrogates.
const UNSAFE =
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}\ud800-\udfff]/gu;

const NAMED_ESCAPES: Readonly<Record<string, string>> = {
  '\n': String.raw`\n`,
  '\r': String.raw`\r`,
  '\t': String.raw`\t`,
};

/**
 * Shows control, invisible and direction-changing characters as escapes, so that no text can control a
 * terminal or fake a line.
 */
export function escapeForTerminal(text: string): string {
  return text.replaceAll(UNSAFE, (character) => NAMED_ESCAPES[character] ?? escapeCodePoint(character));
}

function escapeCodePoint(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return code <= 0xff
    ? String.raw`\x${code.toString(16).padStart(2, '0')}`
    : String.raw`\u{${code.toString(16)}}`;
}

// Text beyond this is not shown, however much before it is masked.
const MOST_HIDDEN = 16_384;

/** Text from a server made safe to show: redacted, escaped, and at most `maxLength` characters long. */
export function quoteServerText(text: string, secrets: readonly string[], maxLength = 500): string {
  const start = text.slice(0, maxLength + MOST_HIDDEN);
  const safe = redact(escapeForTerminal(redact(start, secrets)), secrets);
  return safe.length <= maxLength ? safe : `${safe.slice(0, maxLength)}...`;
}
