import { createHmac } from 'node:crypto';

/** The keyed hash that stands for a value: HMAC-SHA256 over its UTF-8, as lower-case hex. */
export function hashWithKey(hashKey: string, text: string): string {
  return createHmac('sha256', hashKey).update(text, 'utf8').digest('hex');
}

/** Tells one hash key from another. Whoever reads it learns no more of the key than from one hashed value. */
export function fingerprintHashKey(hashKey: string): string {
  return hashWithKey(hashKey, 'sluice: fingerprint of this key').slice(0, 12);
}

/** Tells one API key from another, at one address: what is published holds it, and nothing of the key can be read from it. */
export function fingerprintApiKey(apiKey: string, baseUrl: string): string {
  return hashWithKey(apiKey, `sluice: fingerprint of the key for ${baseUrl}`).slice(0, 12);
}
