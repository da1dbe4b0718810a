/** graphile-worker with its local queue and batched completion, as documented for throughput. */
import { Logger, makeWorkerUtils, runTaskList } from 'graphile-worker'
import pg from 'pg'
import { bodies, committed, exists, inBatches, ORDER, type Peer, type Tuning, vacuum } from '../peer.ts'

const TASK = 'jobs'

/** It logs every job, which would measure the terminal. */
const logger = new Logger(() => () => {})

const SETTINGS: Record<Tuning, GraphileConfig.WorkerOptions> = {
	drain: {
		concurrentJobs: 24,
		localQueue: { size: 2_000 },
		completeJobBatchDelay: 0,
		failJobBatchDelay: 0,
	},
	// The local queue and batches improve throughput but delay the start of a job.
	latency: { concurrentJobs: 24 },
}

export async function graphile(url: string): Promise<Peer> {
	const pool = new pg.Pool({ connectionString: url, max: 25 })
	pool.on('error', () => {})
	pool.on('connect', (client) => client.on('error', () => {}))
	const utils = await makeWorkerUtils({ pgPool: pool, logger })
	await utils.migrate()
	const add = (tx: pg.PoolClient, seq: number) =>
		tx.query('select graphile_worker.add_job($1, $2::json)', [TASK, JSON.stringify({ ...ORDER, seq })])
	return {
		fill: (count) =>
			inBatches(count, (from, to) =>
				utils.addJobs(bodies(from, to).map((payload) => ({ identifier: TASK, payload }))),
			),
		async enqueueEach(count) {
			await committed(pool, async (tx) => {
				for (let seq = 0; seq < count; seq++) await add(tx, seq)
			})
		},
		send: (seq) => committed(pool, (tx) => add(tx, seq)),
		async work(handle, tuning) {
			const workers = runTaskList(
				{ preset: { worker: { ...SETTINGS[tuning] } }, logger, noHandleSignals: true },
				{
					[TASK]: async (payload) => {
						handle((payload as { seq: number }).seq)
					},
				},
				pool,
			)
			return async () => {
				await workers.gracefulShutdown()
			}
		},
		isEmpty: async () => !(await exists(pool, 'graphile_worker._private_jobs')),
		async tidy() {
			await pool.query('truncate graphile_worker._private_jobs')
		},
		vacuum: () => vacuum(pool),
		async close() {
			await utils.release()
			await pool.end()
		},
	}
}
