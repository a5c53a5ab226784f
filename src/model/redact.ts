const REDACTED = '[redacted]';
// Anything shorter would black out ordinary words; no real key is this short.
const SHORTEST_SECRET = 4;
const SHORTEST_FORM = 6;

/**
 * Replaces every secret in a text: plain, URL-encoded, as a JSON string, in hex, and in base64, also where
 * it is only a part of what was encoded (`user:secret`). Redact before cutting a text: half a key is a leak.
 */
export function redact(text: string, secrets: readonly string[]): string {
  // Longest first, so that no form leaves the tail of a longer one behind.
  const forms = secrets.flatMap(listForms).sort((a, b) => b.length - a.length);
  return forms.reduce((redacted, form) => redacted.replaceAll(form, REDACTED), text);
}

function listForms(secret: string): readonly string[] {
  if (secret.length < SHORTEST_SECRET) return [];
  const bytes = Buffer.from(secret, 'utf8');
  const encoded = [
    percentEncode(secret),
    encodeURIComponent(secret.toWellFormed()),
    encodeURIComponent(secret.toWellFormed()).replaceAll('%20', '+'),
    JSON.stringify(secret).slice(1, -1),
    JSON.stringify(secret)
      .slice(1, -1)
      .replaceAll('/', String.raw`\/`),
    bytes.toString('hex'),
    bytes.toString('hex').toUpperCase(),
    ...[0, 1, 2].map((offset) => encodeBase64Core(bytes, offset)),
  ].filter((form) => form.length >= SHORTEST_FORM);
  const variants = encoded.flatMap((form) => [form, lowerEscapes(form), toUrlSafe(form)]);
  return [...new Set([secret, ...variants])];
}

/** The base64 characters that the secret alone decides when `offset` other bytes (modulo 3) precede it. */
function encodeBase64Core(bytes: Buffer, offset: number): string {
  const whole = Buffer.concat([Buffer.alloc(offset), bytes]).toString('base64');
  const first = Math.ceil((offset * 8) / 6);
  const last = Math.floor(((offset + bytes.length) * 8) / 6);
  return whole.slice(first, last);
}

function percentEncode(secret: string): string {
  return [...Buffer.from(secret, 'utf8')]
    .map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`)
    .join('');
}

function lowerEscapes(form: string): string {
  return form.replaceAll(/%[0-9A-F]{2}/g, (escape) => escape.toLowerCase());
}

function toUrlSafe(form: string): string {
  return form.replaceAll('+', '-').replaceAll('/', '_');
}

// C0, DEL and C1 controls; line separators; zero-width, directional and tag characters; lone surrogates.
const UNSAFE =
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}\ud800-\udfff]/gu;

const NAMED_ESCAPES: Readonly<Record<string, string>> = {
  '\n': String.raw`\n`,
  '\r': String.raw`\r`,
  '\t': String.raw`\t`,
};

/** Shows control, invisible and direction-changing characters as escapes: no text can steer a terminal or forge a line. */
export function escapeForTerminal(text: string): string {
  return text.replaceAll(UNSAFE, (character) => NAMED_ESCAPES[character] ?? escapeCodePoint(character));
}

function escapeCodePoint(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return code <= 0xff
    ? String.raw`\x${code.toString(16).padStart(2, '0')}`
    : String.raw`\u{${code.toString(16)}}`;
}

/** Text of a server made safe to show: redacted, escaped, and at most `maxLength` characters long. */
export function quoteServerText(text: string, secrets: readonly string[], maxLength = 500): string {
  const safe = redact(escapeForTerminal(redact(text, secrets)), secrets);
  return safe.length <= maxLength ? safe : `${safe.slice(0, maxLength)}...`;
}
