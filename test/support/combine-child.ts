// Publishes one combined file from files of accounts, again and again, until it is killed.
// Arguments: the file, and the files of the accounts.
import { basename } from 'node:path';
import { publishCombined } from '../../src/accounts/combined-file.ts';

const [file = '', ...files] = process.argv.slice(2);
const accounts = files.map((readersFile) => ({
  account: basename(readersFile, '.duckdb'),
  readersFile,
  lake: undefined,
}));
process.stdout.write('ready\n');
for (let one = 0; ; one = (one + 1) % accounts.length) {
  // Always another set, so that there is something to publish.
  await publishCombined({ file, accounts: accounts.filter((_, at) => at !== one) });
}
