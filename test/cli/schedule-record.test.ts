import { expect, it } from 'vitest';
import { followSchedule, ScheduleRecord } from '../../src/cli/schedule/schedule-record.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

it('says when the next run is once the metrics file is written', async () => {
  const clock = createVirtualClock();
  const done: string[] = [];
  const save = async () => {
    await clock.sleep(1);
    done.push('saved');
  };
  await followSchedule(
    { record: new ScheduleRecord(), save },
    { type: 'waiting', nextRunAtMs: clock.now() + 60_000 },
    { clock, log: ({ fields }) => void done.push(String(fields?.['type'])) },
  );
  expect(done).toEqual(['saved', 'next-run']);
});
