import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Forms in which a text or a file may hold a secret, written without the code that hides them. */
export function listForms(secret: string): Readonly<Record<string, string>> {
  const bytes = Buffer.from(secret);
  // What base64 makes of the middle of the secret, wherever it begins.
  const core = (offset: number) => {
    const whole = Buffer.concat([Buffer.alloc(offset), bytes]).toString('base64');
    return whole.slice(4, 4 + Math.floor((bytes.length - 6) / 3) * 4);
  };
  const forms = {
    plain: secret,
    'its first half': secret.slice(0, Math.ceil(secret.length / 2)),
    'its second half': secret.slice(Math.floor(secret.length / 2)),
    'URL-encoded': encodeURIComponent(secret),
    'URL-encoded whole': [...bytes].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join(''),
    'in base64': core(0),
    'in base64, one byte later': core(1),
    'in base64, two bytes later': core(2),
    'in base64 for URLs': core(0).replaceAll('+', '-').replaceAll('/', '_'),
    'as a JSON string': JSON.stringify(secret).slice(1, -1),
    'as a JSON string with escaped slashes': secret.replaceAll('/', String.raw`\/`),
    'as HTML': escapeHtml(secret),
    'in hex': bytes.toString('hex'),
  };
  return Object.fromEntries(Object.entries(forms).filter(([, form]) => form.length >= 6));
}

/** As templates and servers write text into a page. */
export function escapeHtml(text: string): string {
  const named: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '/': '&#x2F;' };
  return text.replaceAll(/[&<>/]/g, (character) => named[character] ?? character);
}

/** Names of the forms of a secret that a text holds. */
export function findForms(text: string, secret: string): readonly string[] {
  const lower = text.toLowerCase();
  return Object.entries(listForms(secret))
    .filter(([, form]) => lower.includes(form.toLowerCase()))
    .map(([name]) => name);
}

/** Files below a folder that hold a form of a secret, with the form. */
export function findInFiles(folder: string, secret: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true }).flatMap((entry) => {
    if (!entry.isFile()) return [];
    const file = join(entry.parentPath, entry.name);
    return findForms(readFileSync(file, 'latin1'), secret).map((form) => `${file} holds it ${form}`);
  });
}
