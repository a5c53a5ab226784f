// A program of a user's that has the published file open: it answers each message with one.
// Arguments: the file, and READ_ONLY or READ_WRITE.
import { DuckDBInstance } from '@duckdb/node-api';

/** What the program can be asked to do. */
export type ReaderTask =
  | { readonly task: 'query'; readonly sql: string }
  /** Opens the file, counts a table's rows and closes it, over and over until told to stop. */
  | { readonly task: 'open-often'; readonly sql: string }
  | { readonly task: 'stop' };

/** Its answer: the first value of each row, or what went wrong. */
export interface ReaderAnswer {
  readonly values: readonly unknown[];
  readonly errors: readonly string[];
  readonly opened: number;
}

const [file = '', mode = 'READ_ONLY'] = process.argv.slice(2);

async function open() {
  const instance = await DuckDBInstance.create(':memory:', { threads: '1' });
  const connection = await instance.connect();
  try {
    await connection.run(`ATTACH '${file}' AS held${mode === 'READ_ONLY' ? ' (READ_ONLY)' : ''}`);
    await connection.run('USE held');
  } catch (error) {
    connection.closeSync();
    instance.closeSync();
    throw error;
  }
  return {
    query: async (sql: string) => (await connection.runAndReadAll(sql)).getRowsJson().map((row) => row[0]),
    close() {
      connection.closeSync();
      instance.closeSync();
    },
  };
}

function answer(reply: Partial<ReaderAnswer>): void {
  process.send?.({ values: [], errors: [], opened: 0, ...reply });
}

let stopped = false;

async function openOften(sql: string): Promise<void> {
  const values = new Set<unknown>();
  const errors: string[] = [];
  let opened = 0;
  while (!stopped) {
    try {
      const reader = await open();
      for (const value of await reader.query(sql)) values.add(value);
      reader.close();
      opened += 1;
    } catch (error) {
      errors.push(String(error));
    }
  }
  answer({ values: [...values], errors, opened });
}

const held = mode === 'OPEN_LATER' ? undefined : await open();

process.on('message', (message: ReaderTask) => {
  if (message.task === 'stop') {
    stopped = true;
    return;
  }
  if (message.task === 'open-often') {
    void openOften(message.sql);
    return;
  }
  held?.query(message.sql).then(
    (values) => answer({ values }),
    (error: unknown) => answer({ errors: [String(error)] }),
  );
});
answer({});
