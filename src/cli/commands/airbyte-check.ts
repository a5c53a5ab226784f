import { connectionMessage } from '../../clients/airbyte-messages.ts';
import { AbortedError, toSyncError } from '../../model/errors.ts';
import { withName } from '../../text/name-once.ts';
import { answerAirbyte } from '../clients/answer-airbyte.ts';
import { openConnection } from '../clients/open-connection.ts';
import { defineCommand } from '../frame/command.ts';
import type { CliContext, GlobalValues } from '../frame/context.ts';

/** Whether a connection would work. */
export const airbyteCheckCommand = defineCommand({
  description:
    'Tests a connection config and answers in Airbyte’s protocol. At most one request per stream. `--config` is the ' +
    'JSON of the connection, or a sluice.yaml.',
  options: {},
  examples: [['source-sluice check --config connection.json', 'As Airbyte runs it']],
  run(context, { globals }) {
    return answerAirbyte(context, async (lines) => {
      await lines.writeJson(connectionMessage(await findProblem(context, globals)));
      return 0;
    });
  },
});

/** What is wrong, with what to do; undefined for a connection that works. */
async function findProblem(context: CliContext, globals: GlobalValues): Promise<string | undefined> {
  try {
    const { settings, sync, streams } = await openConnection(context, globals);
    if (streams !== undefined) {
      const { selectStreams } = await import('../../config/select-streams.ts');
      selectStreams(settings, streams);
    }
    const { signal, engine } = context;
    const { ofAccount } = sync;
    const { items, ok, error } = await engine.runChecks(settings, {
      signal,
      ...(ofAccount && { ofAccount }),
    });
    if (ok) return undefined;
    const failed = items.filter(({ status }) => status === 'failed');
    // A read sends what is there, and continues: a platform that checks first must not keep it from that.
    if (failed.length === 1 && error?.code === 'quota_exhausted') return undefined;
    return failed.map(({ name, detail, fix = '' }) => `${withName(detail, name)}\n${fix}`.trim()).join('\n');
  } catch (thrown) {
    const error = toSyncError(thrown);
    if (error instanceof AbortedError) throw error;
    return `${error.message}\n${error.hint}`;
  }
}
