// Loaded before the command line: says on stderr when the statement named by SLOW_AT begins, and gives it so
// much to do that it would continue for days. With SLOW_FOR_EVER=1
// nothing interrupts it.
import { listConnections } from '../support/connection-classes.ts';
import { hookSteps } from '../support/io-steps.ts';

const ENDLESS = 'SELECT count(*) FROM range(100000000000) a(i), range(1000000) b(j) WHERE (i * j) % 7 = 3';
const slowAt = process.env['SLOW_AT'];
if (slowAt !== undefined) {
  let isDue = false;
  const all = (await listConnections()) as readonly Record<
    'run' | 'stream' | 'interrupt',
    (this: unknown, ...args: unknown[]) => unknown
  >[];
  for (const methods of all) {
    const { run, stream } = methods;
    methods.run = function (...args) {
      if (!isDue) return run.apply(this, args);
      isDue = false;
      return run.call(this, ENDLESS);
    };
    // A query of the user's is left as it is.
    methods.stream = function (...args) {
      isDue = false;
      return stream.apply(this, args);
    };
  }
  const before = ({ name }: { readonly name: string }) => {
    if (name !== slowAt) return;
    isDue = true;
    process.stderr.write('the slow statement begins\n');
  };
  await hookSteps({ before }, () => false);
  if (process.env['SLOW_FOR_EVER'] === '1') for (const methods of all) methods.interrupt = () => undefined;
}
