/** Delivers again what an endpoint had (`resend`), or what it would have had (`replay`). */
import type { Runtime } from '../../core/runtime/runtime.ts'
import { sleep } from '../../core/runtime/sleep.ts'
import { destinationOf } from '../../webhooks/endpoint-names.ts'
import type { Enqueuer } from '../enqueue/enqueuer.ts'
import { uuidGenerator } from '../enqueue/uuid.ts'
import type { EndpointRow, EndpointStore, StoredEventRow } from '../store/endpoint-store.ts'
import type { NewRow, OperatorNote } from '../store/rows.ts'
import type { OutboxStore } from '../store/store.ts'
import type { ResendSettings } from './endpoint-options.ts'

const PAGE_SIZE = 1_000
const SECOND_MS = 1_000

/**
 * Returns dead letters and sent messages of the endpoint to the queue, a page at a time. Pages follow the ids of
 * messages, so a message that is sent again meanwhile is not found a second time. With a rate, a page is what may
 * become due in a second.
 */
export async function resendMessages(
	store: OutboxStore,
	runtime: Runtime,
	endpointId: string,
	{ since, until, ratePerSecond, signal }: ResendSettings,
	operator: OperatorNote,
): Promise<number> {
	const limit = Math.max(1, Math.min(PAGE_SIZE, Math.floor(ratePerSecond)))
	const pauseMs = ratePerSecond === Infinity ? 0 : (limit / ratePerSecond) * SECOND_MS
	const end = until === Infinity ? undefined : until
	const filter = { destination: destinationOf(endpointId), since, until: end }
	let done = 0
	for (const status of ['dead', 'sent'] as const) {
		const step = status === 'dead' ? store.replay : store.resend
		let after: string | undefined
		for (;;) {
			const page = await store.list({ ...filter, status }, limit, after)
			const ids = page.map(({ id }) => id)
			if (ids.length === 0) break
			after = ids.at(-1)
			done += (await step.call(store, { ids }, ids.length, operator)).length
			if (ids.length < limit) break
			await sleep(runtime, pauseMs, signal)
			if (signal?.aborted) return done
		}
	}
	return done
}

interface ReplayParts {
	readonly store: OutboxStore
	readonly endpoints: EndpointStore
	readonly enqueuer: Enqueuer
	readonly runtime: Runtime
}

/**
 * Writes a message for each kept event that the endpoint's topics match. With a rate, the messages are due one after
 * the other: the call does not have to wait, and the rate outlives the process.
 */
export async function replayEvents(
	{ store, endpoints, enqueuer, runtime }: ReplayParts,
	{ id, tenant, topics }: EndpointRow,
	{ since, until, ratePerSecond, signal }: ResendSettings,
): Promise<number> {
	const newId = uuidGenerator(runtime)
	// The clock of the database decides when a message is due.
	const startsAt = await store.now()
	let done = 0
	let after: string | undefined
	for (;;) {
		const page = await endpoints.events({ tenant, topics, since }, PAGE_SIZE, after)
		const events = page.filter(({ createdAt }) => createdAt < until)
		const rows = events.map((event, index): NewRow => {
			const notBefore = Math.ceil(startsAt + ((done + index) / ratePerSecond) * SECOND_MS)
			return { ...toRow(event), id: newId(), destination: destinationOf(id), notBefore }
		})
		await enqueuer.insert(rows, { withoutTransaction: true })
		done += rows.length
		after = page.at(-1)?.id
		if (page.length < PAGE_SIZE || events.length < page.length) return done
		// Lets timers and signals run: an in-process store responds by microtasks only.
		await sleep(runtime, 0, signal)
		if (signal?.aborted) return done
	}
}

const toRow = ({ topic, key, payload, headers }: StoredEventRow): Omit<NewRow, 'id' | 'destination'> => ({
	topic,
	key,
	payload,
	headers,
	dedupeKey: null,
	notBefore: null,
	expiresAt: null,
	maxRetries: null,
})
