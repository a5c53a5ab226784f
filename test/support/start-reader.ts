import { once } from 'node:events';
import { join } from 'node:path';
import type { ReaderAnswer, ReaderTask } from './duckdb-reader.ts';
import { startNode } from './run-node.ts';

/** A process of its own that has a DuckDB file open. */
export interface Reader {
  ask(task: ReaderTask): Promise<ReaderAnswer>;
  tell(task: ReaderTask): void;
  nextAnswer(): Promise<ReaderAnswer>;
  close(): Promise<void>;
}

/** Starts a process that holds the file open; `OPEN_LATER` opens it only when asked to open it often. */
export async function startReader(
  file: string,
  mode: 'READ_ONLY' | 'READ_WRITE' | 'OPEN_LATER',
): Promise<Reader> {
  const child = startNode(join(import.meta.dirname, 'duckdb-reader.ts'), [file, mode], { ipc: true });
  const exited = once(child, 'exit');
  const nextAnswer = async (): Promise<ReaderAnswer> => {
    const died = exited.then(() => Promise.reject(new Error('the reader died')));
    const [answer] = (await Promise.race([once(child, 'message'), died])) as [ReaderAnswer];
    return answer;
  };
  await nextAnswer();
  const tell = (task: ReaderTask) => void child.send(task);
  return {
    tell,
    nextAnswer,
    ask(task) {
      const answer = nextAnswer();
      tell(task);
      return answer;
    },
    async close() {
      child.kill('SIGKILL');
      await exited;
    },
  };
}
