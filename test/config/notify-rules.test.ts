import { describe, expect, it } from 'vitest';
import { listWebhookSecrets } from '../../src/model/notify.ts';
import { explainConfig } from '../../src/config/explain-config.ts';
import { resolveOfflineSettings, resolveSettings } from '../../src/config/resolve-settings.ts';
import { connectors } from '../../connectors/registry.ts';
import { catchConfigError, configText, load, validEnv } from './support.ts';

const SECRET = 'https://hooks.example.com/services/T0/B0/Secret12345';

function withNotify(lines: string): string {
  return `${configText()}\nnotify:\n${lines}\n`;
}

function resolve(lines: string, env: NodeJS.ProcessEnv = {}) {
  const all = { ...validEnv, ...env };
  const loaded = load(withNotify(lines), all);
  return { loaded, settings: resolveSettings({ loaded, connectors, env: all, nowMs: 0 }) };
}

describe('notify', () => {
  it('takes webhooks, programs, and programs with arguments', () => {
    const { settings, loaded } = resolve(
      [
        `  onFailure: ${SECRET}`,
        '  onSuccess: http://127.0.0.1:8080/ok',
        '  onDrift: ./tell.sh',
        '  onSchemaChange: [tell, "a b", "$HOME"]',
        '  onKeyExpiry: [/opt/my tools/tell]',
      ].join('\n'),
    );
    expect(settings.notify).toEqual({
      failure: { kind: 'webhook', url: new URL(SECRET) },
      success: { kind: 'webhook', url: new URL('http://127.0.0.1:8080/ok') },
      drift: { kind: 'command', program: `${loaded.baseDir}/tell.sh`, args: [], cwd: loaded.baseDir },
      'schema-change': { kind: 'command', program: 'tell', args: ['a b', '$HOME'], cwd: loaded.baseDir },
      'key-expiry': { kind: 'command', program: '/opt/my tools/tell', args: [], cwd: loaded.baseDir },
    });
    expect(listWebhookSecrets(settings.notify)).toEqual(['/services/T0/B0/Secret12345']);
  });

  it('takes nothing for nothing: a placeholder of a webhook that is not there', () => {
    expect(resolve('  onFailure: ${HOOK:-}').settings.notify).toEqual({});
    expect(resolve('').settings.notify).toEqual({});
  });

  it.each([
    ['onFailure: http://hooks.example.com/x', 'must start with https://'],
    ['onFailure: https://me:pass@hooks.example.com/x', 'must not contain a user name or password'],
    ['onFailure: "https://"', 'must be a complete URL'],
    ['onFailure: mail -s oops me@example.com', 'a program with arguments is a list'],
    ['onFailure: []', 'must begin with a program'],
    ['onFailure: ["", x]', 'must begin with a program'],
    ['onFailure: 42', 'must be a webhook'],
    ['onFailure: { url: x }', 'must be a webhook'],
    ['onFail: ./tell.sh', 'did you mean "onFailure"?'],
    ['onFailure: ${HOOK}', 'HOOK is not set'],
  ])('refuses %s', (line, message) => {
    const error = catchConfigError(() => resolve(`  ${line}`));
    expect(error.message).toContain(message);
    expect(error.message).not.toContain('me:pass');
  });

  it('keeps no command without requests from working where its variable is unset', () => {
    const loaded = load(withNotify('  onFailure: ${HOOK}'), {}, 'optional');
    expect(resolveOfflineSettings({ loaded, connectors, env: {}, nowMs: 0 }).notify).toEqual({});
  });

  it('is shown without what may be secret', () => {
    const { loaded, settings } = resolve(
      `  onFailure: ${SECRET}\n  onDrift: [./tell.sh, "\${WHERE}"]\n  onSuccess: ./ok.sh`,
      { WHERE: 'secret-channel' },
    );
    const entries = explainConfig(loaded, settings).filter(({ key }) => key.startsWith('notify'));
    expect(Object.fromEntries(entries.map(({ key, value }) => [key, value]))).toEqual({
      'notify.onFailure': '***',
      'notify.onDrift[0]': './tell.sh',
      'notify.onDrift[1]': '***',
      'notify.onSuccess': './ok.sh',
    });
  });
});
