/**
 * Bob uses a key that Ada has used. He must get what he gets for a key that has never been used: the same responses, the same calls of the store, the
 * same events. Otherwise he could find out which keys Ada uses, and with which requests.
 */
import { describe, expect, onTestFinished, test } from 'vitest'
import { virtualRuntime } from 'yaoki/testing'
import {
	fetchIdempotency,
	type IdempotencyContext,
	type IdempotencyEvent,
	type IdempotencyStore,
	idempotency,
} from '../../../src/idempotency/index.ts'
import { userOf } from '../adapters/servers.ts'
import { recordingStore } from '../adapters/stores.ts'

const LEASE_MS = 60_000
const RETENTION_MS = 3_600_000
const MAX_BODY_BYTES = 200

/** A store on an empty database of its own, closed after the test. */
export interface OpenedStore {
	readonly store: IdempotencyStore
	/** Moves the store's clock forward. */
	advance(ms: number): void | Promise<void>
	/** What the database has been asked, if that is known. */
	statements?(): readonly unknown[]
}

type Service = (context: IdempotencyContext) => unknown

/** A service that greets, and what Ada's requests do before. */
function shop({ store: base, statements = () => [] }: OpenedStore, serveAda: Service) {
	const { store, calls } = recordingStore(base)
	// Never advanced: leases end as if the process had crashed.
	const engine = idempotency({
		name: 'shop',
		store,
		principal: userOf,
		runtime: virtualRuntime(),
		maxBodyBytes: MAX_BODY_BYTES,
		leaseMs: LEASE_MS,
		maxRunMs: LEASE_MS,
		retentionMs: RETENTION_MS,
		waitMs: 0,
	})
	const events: IdempotencyEvent[] = []
	engine.subscribe((event) => events.push(event))
	const handle = fetchIdempotency(engine, async (request: Request, context) => {
		const user = request.headers.get('x-user')
		const extra = user === 'ada' ? await serveAda(context) : await context.step('charge', () => 'charged')
		const body = { user, isRerun: context.isRerun, request: await request.json(), extra }
		return Response.json(body, { status: 201, headers: { location: '/charges/1' } })
	})
	const send = async (user: string, key: string, amount: number) => {
		const response = await handle(
			new Request('https://shop.example.com/charges', {
				method: 'POST',
				headers: { 'idempotency-key': key, 'x-user': user, 'content-type': 'application/json' },
				body: JSON.stringify({ amount }),
			}),
		)
		return { status: response.status, headers: [...response.headers], body: await response.text() }
	}
	/** All that Bob causes with a key: a request, its repetition, and another one with the same key. */
	const observe = async (key: string, amount: number) => {
		const [firstCall, firstEvent, firstStatement] = [calls.length, events.length, statements().length]
		const first = await send('bob', key, amount)
		const repeated = await send('bob', key, amount)
		const other = await send('bob', key, amount + 1)
		return {
			first,
			repeated,
			other,
			calls: calls.slice(firstCall).map(({ method, args }) => [method, ...args.map(withoutIds)]),
			events: events.slice(firstEvent).map(({ timestamp: _, ...event }) => event),
			statements: statements().slice(firstStatement),
		}
	}
	return { send, observe }
}

/** The id contains the key, and each claim has a token. */
function withoutIds(argument: unknown): unknown {
	if (typeof argument !== 'object' || argument === null || !('id' in argument)) return argument
	const { id, ...rest } = argument
	return { ...rest, token: 'token' }
}

/** A state of Ada's key. */
interface AdasKey {
	serve?(context: IdempotencyContext, end: Promise<void>): unknown
	readonly isRunning?: boolean
	readonly afterMs?: number
	/** What Ada gets when she repeats her request after Bob's: the status and whether it is replayed. */
	readonly repeated: readonly [status: number, isReplay: boolean]
}

const runUntil = (_: IdempotencyContext, end: Promise<void>) => end

const STATES: Readonly<Record<string, AdasKey>> = {
	'has been completed': { repeated: [201, true] },
	'is running': { serve: runUntil, isRunning: true, repeated: [409, false] },
	'has been abandoned': { serve: runUntil, isRunning: true, afterMs: LEASE_MS, repeated: [201, false] },
	'has been released with a step': {
		async serve(context) {
			if (context.isRerun) return
			await context.step('charge', () => 1)
			throw new Error('boom')
		},
		repeated: [201, false],
	},
	'has a response that was too large': { serve: () => 'x'.repeat(MAX_BODY_BYTES), repeated: [409, false] },
	'has expired': { afterMs: RETENTION_MS, repeated: [201, false] },
}

export function foreignKeys(open: () => OpenedStore | Promise<OpenedStore>): void {
	describe.each(Object.entries(STATES))('a key that %s for Ada', (_, state) => {
		test.each([
			['the same request', 1],
			['another request', 7],
		])('is like an unknown one for Bob, with %s', async (_, amount) => {
			const { opened, ada, observe } = await usedByAda(state)
			await ada.start()
			await opened.advance(state.afterMs ?? 0)
			const foreign = await observe('k1', amount)
			expect(foreign).toEqual(await observe('never-used', amount))
			expect(foreign.statements.length > 0).toBe(opened.statements !== undefined)
			const run = { user: 'bob', isRerun: false, request: { amount }, extra: 'charged' }
			expect(JSON.parse(foreign.first.body)).toEqual(run)
			expect([foreign.first, foreign.repeated, foreign.other].map(outcome)).toEqual([
				[201, false],
				[201, true],
				[422, false],
			])
			const methods = foreign.calls.map(([method]) => method)
			expect(methods).toEqual(['claim', 'saveStep', 'complete', 'claim', 'claim'])
			expect(outcome(await ada.repeat())).toEqual(state.repeated)
		})
	})

	/** Ada's key `k1`. */
	async function usedByAda({ serve, isRunning }: AdasKey) {
		const opened = await open()
		const entered = Promise.withResolvers<void>()
		const end = Promise.withResolvers<void>()
		let runs = 0
		const { send, observe } = shop(opened, (context) => {
			entered.resolve()
			// Only the first run is slow.
			return ++runs === 1 || !isRunning ? serve?.(context, end.promise) : undefined
		})
		const start = async () => {
			const sent = send('ada', 'k1', 1).catch(() => {})
			onTestFinished(async () => {
				end.resolve()
				await sent
			})
			await (isRunning ? entered.promise : sent)
		}
		return { opened, observe, ada: { start, repeat: () => send('ada', 'k1', 1) } }
	}
}

interface Received {
	readonly status: number
	readonly headers: readonly (readonly [string, string])[]
}

const outcome = ({ status, headers }: Received): readonly [number, boolean] => [
	status,
	headers.some(([name]) => name === 'idempotency-replayed'),
]
