import { createHash } from 'node:crypto';

import { ApiProblem } from './api-problem.ts';
import { readHeader } from './message.ts';
import type { SimulatorRequest } from './message.ts';

/** The states an API key can be in. */
export type KeyState = 'active' | 'expired' | 'revoked';

/** A key the simulator knows. */
export interface SimulatedKey {
  readonly key: string;
  /** Active when left out. */
  readonly state?: KeyState;
  /** Paths below the base path that this key may not read: they answer 403. */
  readonly forbidden?: readonly string[];
}

/** The credential that a request carries; `id` distinguishes keys without revealing them. */
export interface Credential {
  readonly kind: 'key' | 'bearer' | 'none';
  readonly value: string;
  readonly id: string;
}

/** Who may read what. */
export interface KeyRing {
  /** Throws the problem of a credential that may not read the path. */
  assertAllowed(credential: Credential, endpointPath: string): void;
  setState(key: string, state: KeyState): void;
}

const NO_CREDENTIAL: Credential = { kind: 'none', value: '', id: 'none' };
const ids = new Map<string, string>();

/** Finds the credential: the API key first, then a bearer token. */
export function readCredential(headers: SimulatorRequest['headers']): Credential {
  const key = readHeader(headers, 'x-api-key');
  if (key !== undefined && key !== '') return { kind: 'key', value: key, id: hashSecret(key) };
  const token = /^Bearer +(\S+)$/i.exec(readHeader(headers, 'authorization') ?? '')?.[1];
  return token === undefined ? NO_CREDENTIAL : { kind: 'bearer', value: token, id: hashSecret(token) };
}

/** Makes the ring of known keys and tokens. */
export function createKeyRing(
  keys: readonly (string | SimulatedKey)[],
  bearerTokens: readonly string[],
): KeyRing {
  const known = new Map(keys.map((key) => (typeof key === 'string' ? [key, { key }] : [key.key, key])));
  return {
    assertAllowed(credential, endpointPath) {
      if (credential.kind === 'none') throw refuse('Missing API key.');
      if (credential.kind === 'bearer') {
        if (!bearerTokens.includes(credential.value)) throw refuse('Invalid token.');
        return;
      }
      const found = known.get(credential.value);
      if (found === undefined) throw refuse('Invalid API key.');
      if (found.state === 'expired') throw refuse('The API key has expired.');
      if (found.state === 'revoked') throw refuse('The API key has been revoked.');
      if (found.forbidden?.includes(endpointPath)) {
        throw new ApiProblem(403, 'FORBIDDEN', 'Insufficient permissions for this endpoint.');
      }
    },
    setState(key, state) {
      known.set(key, { ...known.get(key), key, state });
    },
  };
}

function refuse(message: string): ApiProblem {
  return new ApiProblem(401, 'UNAUTHORIZED', message);
}

function hashSecret(secret: string): string {
  const kept = ids.get(secret);
  if (kept !== undefined) return kept;
  const id = createHash('sha256').update(secret).digest('hex').slice(0, 12);
  ids.set(secret, id);
  return id;
}
