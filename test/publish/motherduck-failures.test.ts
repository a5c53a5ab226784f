import { describe, expect, it } from 'vitest';
import type { MotherDuckDestination } from '../../src/model/destination.ts';
import { motherDuck } from '../../src/publish/lakehouse/motherduck/attach-motherduck.ts';
import { MotherDuck } from '../../src/publish/lakehouse/motherduck/motherduck.ts';
import { makeFolder } from '../support/sync-harness.ts';

const token = `example-token-it's-secret`;

function describeDestination(): MotherDuckDestination {
  const extensions = { folder: makeFolder(), installs: false };
  const path = 'md:company.main';
  return {
    kind: 'motherduck',
    path,
    database: 'company',
    schema: 'main',
    token,
    extensions,
    secrets: [token],
  };
}

// As the service's documentation and its users quote it; none was seen by these tests.
const initialized =
  'Invalid Input Error: Initialization function "motherduck_duckdb_cpp_init" from file "motherduck.duckdb_extension" threw an exception: ';

describe('a database of MotherDuck', () => {
  it('is attached by its own name, with the token in a statement that no error repeats', async () => {
    const statements: string[] = [];
    const session = {
      run: (sql: string) => Promise.resolve(void statements.push(sql)),
      all: () => Promise.resolve([]),
    };
    const { needs, attach } = motherDuck.reach(describeDestination());
    await attach(session);
    expect(needs).toEqual(['motherduck']);
    expect(statements).toEqual([
      `SET motherduck_token = 'example-token-it''s-secret'`,
      `ATTACH 'md:company'`,
    ]);
  });

  it('cannot be opened without the extension, and says where to put it', async () => {
    const thrown: unknown = await new MotherDuck(describeDestination())
      .open({ mode: 'read' })
      .catch((error: unknown) => error);
    expect(thrown).toMatchObject({
      exitCode: 2,
      message: expect.stringMatching(/extension .*motherduck.* is missing/) as string,
      hint: expect.stringContaining('engine.extensionDirectory') as string,
    });
  });

  it.each<[string, RegExp, RegExp]>([
    [
      `${initialized}"Your DuckDB version (v1.5.5) is not yet supported by MotherDuck. The latest\nsupported version is v1.5.2. Please downgrade to use MotherDuck."`,
      /does not accept this version of the engine/,
      /another destination/,
    ],
    [
      `${initialized}"Your MotherDuck extension is running on DuckDB v0.9.2 which is no longer supported."`,
      /does not accept this version of the engine/,
      /release of Sluice/,
    ],
    [
      `Invalid Error: Request failed: Your request is not authenticated. Please check your MotherDuck token. (Jwt is expired) ${token}`,
      /refuses the token/,
      /destination\.motherduck\.token/,
    ],
    [
      `${initialized}"Failed to attach 'company': no database/share named 'company' found"`,
      /there is no such database/,
      /destination\.motherduck\.database/,
    ],
    [
      'Invalid Input Error: Cannot execute statement of type "CREATE" on database "company" which is attached in read-only mode!',
      /only allows to read/,
      /Read\/Write/,
    ],
    [
      `${initialized}"Invalid Error: Request failed: Could not connect to MotherDuck. Please try again later. (UNAVAILABLE, RPC 'CREATE_SLT')"`,
      /cannot be reached/,
      /ca-certificates/,
    ],
    ['TransactionContext Error: Conflict on update!', /at the same time/, /Run again/],
  ])('says what to do: %s', (message, what, hint) => {
    const error = new MotherDuck(describeDestination()).describeFailure(new Error(message));
    expect(error).toMatchObject({ exitCode: 6, code: 'publish_failed' });
    expect(error.message).toMatch(what);
    expect(error.hint).toMatch(hint);
    expect(`${error.message} ${error.hint} ${String(error.cause)}`).not.toContain(token);
  });
});
