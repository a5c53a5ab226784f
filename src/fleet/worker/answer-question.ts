import { isHeld, recordQuota, recordStages, settleTakeover, type TakenAccount } from '../database/leases.ts';
import type { FleetDatabase } from '../database/sql.ts';
import type { LaneQuestion } from '../run/messages.ts';

/** Answers what a run asks of the database: false where its account is another's by now. */
export function answerQuestion(
  database: FleetDatabase,
  taken: TakenAccount,
  question: LaneQuestion,
): Promise<boolean> {
  switch (question.kind) {
    case 'held':
      return database.transaction((sql) => isHeld(sql, taken));
    case 'stages':
      return recordStages(database, taken, question.stages);
    case 'quota':
      return recordQuota(database, taken, question.mark);
    case 'settled':
      return settleTakeover(database, taken);
  }
}
