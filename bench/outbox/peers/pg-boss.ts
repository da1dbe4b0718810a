/**
 * pg-boss with batches of 3,000, no delay between full batches, and NOTIFY. Two workers in the process: one fetches while the other completes, which was
 * twice as fast as one worker, and faster than three or four.
 */
import pg from 'pg'
import { PgBoss } from 'pg-boss'
import {
	type Body,
	bodies,
	committed,
	exists,
	inBatches,
	ORDER,
	type Peer,
	type Tuning,
	vacuum,
} from '../peer.ts'

const QUEUE = 'jobs'

const SETTINGS: Record<Tuning, object> = {
	drain: { batchSize: 3_000, localConcurrency: 2, burstWhenBatchFull: true, pollingIntervalSeconds: 0.5 },
	latency: { batchSize: 100, pollingIntervalSeconds: 0.5 },
}

export async function pgBoss(url: string): Promise<Peer> {
	const pool = new pg.Pool({ connectionString: url })
	// Without its maintenance, which would run during a measurement.
	const boss = new PgBoss({ connectionString: url, schedule: false, supervise: false, useListenNotify: true })
	boss.on('error', () => {})
	await boss.start()
	if (!(await boss.getQueue(QUEUE))) await boss.createQueue(QUEUE, { notify: true })
	const add = (tx: pg.PoolClient, seq: number) =>
		boss.send(
			QUEUE,
			{ ...ORDER, seq },
			{ db: { executeSql: (text: string, values?: unknown[]) => tx.query(text, values) } },
		)
	return {
		fill: (count) =>
			inBatches(count, (from, to) =>
				boss.insert(
					QUEUE,
					bodies(from, to).map((data) => ({ data })),
				),
			),
		async enqueueEach(count) {
			await committed(pool, async (tx) => {
				for (let seq = 0; seq < count; seq++) await add(tx, seq)
			})
		},
		send: (seq) => committed(pool, (tx) => add(tx, seq)),
		async work(handle, tuning) {
			await boss.work<Body>(QUEUE, SETTINGS[tuning], async (jobs) => {
				for (const { data } of jobs) handle(data.seq)
			})
			return () => boss.offWork(QUEUE)
		},
		isEmpty: async () => !(await exists(pool, `pgboss.job where name = '${QUEUE}' and state < 'completed'`)),
		async tidy() {
			await boss.deleteAllJobs(QUEUE)
			await vacuum(pool)
		},
		vacuum: () => vacuum(pool),
		async close() {
			await boss.stop({ graceful: false })
			await pool.end()
		},
	}
}
