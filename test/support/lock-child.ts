// Holds the lock of a destination until it is killed. Argument: the destination.
import { lockDestinations } from '../../state/destination-lock.ts';

await lockDestinations([{ target: process.argv[2] ?? '', part: 'other' }]);
process.stdout.write('ready\n');
setInterval(() => undefined, 60_000);
