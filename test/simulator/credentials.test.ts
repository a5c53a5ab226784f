import { describe, expect, it } from 'vitest';

import { createSimulator } from '../../src/simulator/simulator.ts';
import { DEMO_KEY } from '../../src/simulator/simulator-options.ts';
import { ask } from './ask.ts';

const PATH = 'commerce/top-products';

describe('credentials', () => {
  it('are a known API key, its header in any case', () => {
    const simulator = createSimulator();
    expect(ask(simulator, PATH).status).toBe(200);
    expect(ask(simulator, PATH, { headers: { 'X-API-Key': DEMO_KEY } }).status).toBe(200);
  });

  it.each([
    ['missing', {}],
    ['empty', { 'x-api-key': '' }],
    ['unknown', { 'x-api-key': 'who-is-this' }],
    ['a bearer token nobody issued', { authorization: 'Bearer who.is.this' }],
  ])('that are %s are answered 401, without telling the key', (_, headers) => {
    const refused = ask(createSimulator(), PATH, { headers });
    expect(refused.status).toBe(401);
    expect(refused.error?.code).toBe('UNAUTHORIZED');
    expect(refused.response.body).not.toContain('who');
  });

  it('may be a bearer token', () => {
    const simulator = createSimulator({ bearerTokens: ['a.b.c'] });
    expect(ask(simulator, PATH, { headers: { Authorization: 'Bearer a.b.c' } }).status).toBe(200);
  });

  it.each(['expired', 'revoked'] as const)('that are %s are answered 401', (state) => {
    const simulator = createSimulator({ keys: [{ key: 'old', state }] });
    const refused = ask(simulator, PATH, { headers: { 'x-api-key': 'old' } });
    expect(refused.status).toBe(401);
    expect(refused.error?.message).toContain(state);
  });

  it('can be revoked and renewed while the service runs', () => {
    const simulator = createSimulator();
    simulator.setKeyState(DEMO_KEY, 'revoked');
    expect(ask(simulator, PATH).status).toBe(401);
    simulator.setKeyState(DEMO_KEY, 'active');
    expect(ask(simulator, PATH).status).toBe(200);
  });

  it('that may not read a path are answered 403 there and 200 elsewhere', () => {
    const simulator = createSimulator({ keys: [{ key: 'some', forbidden: [PATH] }] });
    const headers = { 'x-api-key': 'some' };
    expect(ask(simulator, PATH, { headers }).error?.code).toBe('FORBIDDEN');
    expect(ask(simulator, 'prompts/analytics', { headers }).status).toBe(200);
  });

  it('are never in the log', () => {
    const simulator = createSimulator();
    ask(simulator, PATH);
    ask(simulator, PATH, { headers: {} });
    expect(JSON.stringify(simulator.log)).not.toContain(DEMO_KEY);
    expect(simulator.log[0]?.keyId).toMatch(/^[0-9a-f]{12}$/);
    expect(simulator.log[1]?.keyId).toBe('none');
  });
});
