// Starts both servers, says where they are, and waits to be killed.
import { startObjectStore, startPostgres } from './lake-servers.ts';

const [postgres, store] = await Promise.all([startPostgres(), startObjectStore()]);
process.stdout.write(`${JSON.stringify([postgres.port, Number(store.endpoint.split(':')[1])])}\n`);
setInterval(() => {}, 60_000);
