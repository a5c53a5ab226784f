import { createHmac } from 'node:crypto';
import type { Settings } from './settings.ts';

/** The keyed hash that stands for a value: HMAC-SHA256 over its UTF-8, as lower-case hex. */
export function hashWithKey(hashKey: string, text: string): string {
  return createHmac('sha256', hashKey).update(text, 'utf8').digest('hex');
}

/** Identifies a hash key. It reveals no more of the key than one hashed value does. */
export function fingerprintHashKey(hashKey: string): string {
  return hashWithKey(hashKey, 'sluice: fingerprint of this key').slice(0, 12);
}

/** Identifies an API key at one address. It is part of what is published, and reveals nothing of the key. */
export function fingerprintApiKey(apiKey: string, baseUrl: string): string {
  return hashWithKey(apiKey, `sluice: fingerprint of the key for ${baseUrl}`).slice(0, 12);
}

/** Identifies the key of a config without revealing it. */
export function nameKey({ credentials, baseUrl }: Pick<Settings, 'credentials' | 'baseUrl'>): string {
  return fingerprintApiKey(credentials.secret, baseUrl.href.replace(/\/$/, ''));
}
