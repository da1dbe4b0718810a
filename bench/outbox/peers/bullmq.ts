/** BullMQ, on the Redis that it is made for, and on PostgreSQL. It cannot enqueue in the user's transaction. */
import { createPostgresBackend, Queue, Worker } from 'bullmq'
import pg from 'pg'
import { type Body, bodies, type Handle, inBatches, nanoseconds, ORDER, type Peer, vacuum } from '../peer.ts'

const QUEUE = 'jobs'
const DONE = { removeOnComplete: { count: 0 }, concurrency: 100 } as const

/** What both kinds of queue share. */
interface Jobs {
	add(name: string, data: Body): Promise<unknown>
	addBulk(jobs: { name: string; data: Body }[]): Promise<unknown>
	getJobCountByTypes(...types: ('waiting' | 'active' | 'delayed' | 'prioritized')[]): Promise<number>
	close(): Promise<void>
}

interface Working {
	close(force?: boolean): Promise<void>
}

function peerOf(
	queue: Jobs,
	start: (handle: Handle) => Working,
	cleanUp: Pick<Peer, 'vacuum' | 'close'>,
): Peer {
	return {
		fill: (count) =>
			inBatches(count, (from, to) => queue.addBulk(bodies(from, to).map((data) => ({ name: QUEUE, data })))),
		async enqueueEach(count) {
			for (let seq = 0; seq < count; seq++) await queue.add(QUEUE, { ...ORDER, seq })
		},
		async send(seq) {
			await queue.add(QUEUE, { ...ORDER, seq })
			return nanoseconds()
		},
		async work(handle) {
			const worker = start(handle)
			return () => worker.close(true)
		},
		isEmpty: async () =>
			(await queue.getJobCountByTypes('waiting', 'active', 'delayed', 'prioritized')) === 0,
		async tidy() {},
		vacuum: () => cleanUp.vacuum(),
		async close() {
			await queue.close()
			await cleanUp.close()
		},
	}
}

export async function bullmqOnRedis(url: string): Promise<Peer> {
	const { hostname: host, port } = new URL(url)
	const connection = { host, port: Number(port), maxRetriesPerRequest: null }
	const queue = new Queue<Body>(QUEUE, { connection })
	queue.on('error', () => {})
	await queue.waitUntilReady()
	const start = (handle: Handle) => {
		const worker = new Worker<Body>(QUEUE, async ({ data }) => handle(data.seq), { ...DONE, connection })
		worker.on('error', () => {})
		return worker
	}
	return peerOf(queue, start, { vacuum: async () => {}, close: async () => {} })
}

export async function bullmqOnPostgres(url: string): Promise<Peer> {
	const pool = new pg.Pool({ connectionString: url })
	const connection = { connectionString: url, migrate: true }
	const queue = new Queue(QUEUE, { connection }, createPostgresBackend)
	queue.on('error', () => {})
	await queue.waitUntilReady()
	const start = (handle: Handle) => {
		const work = async ({ data }: { data: Body }) => handle(data.seq)
		const worker = new Worker(QUEUE, work, { ...DONE, connection }, createPostgresBackend)
		worker.on('error', () => {})
		return worker
	}
	return peerOf(queue, start, { vacuum: () => vacuum(pool), close: () => pool.end() })
}
