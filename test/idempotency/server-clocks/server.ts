/** A server of a fleet, with a clock of its own. */
import { vi } from 'vitest'
import type { Runtime } from 'yaoki'
import { virtualRuntime } from 'yaoki/testing'
import type { BeginResult, IdempotencyClaim } from '../../../src/idempotency/engine/claim.ts'
import {
	type IdempotencyEngine,
	type IdempotencyOptions,
	type IdempotencyStore,
	idempotency,
	type StoredResponse,
} from '../../../src/idempotency/index.ts'
import type { IdempotencyIdentity } from '../../../src/idempotency/key/identity.ts'

export const RESPONSE: StoredResponse = { status: 201, headers: [], body: new Uint8Array([1, 2]) }

const machineTime = Date.now

/** Later than any server is behind: a monotonic clock is never negative. */
const STARTED_AT = 1e9

export interface Server {
	readonly engine: IdempotencyEngine
	/** Time passes on this server only: its timers fire. Without it, a server is like one that has crashed. */
	advance(ms: number): Promise<void>
	/** The wall clock is set by an operator or a time server. */
	setClock(byMs: number): void
	/** The machine was suspended: its clocks have gone on, its timers have not. */
	suspend(ms: number): void
	begin(key?: string): Promise<BeginResult>
	/** Runs something with the server's time in `Date.now`. One call after the other: all servers are in this process. */
	run<T>(call: (engine: IdempotencyEngine) => T | Promise<T>): Promise<T>
}

export const identityOf = (key = 'k1'): IdempotencyIdentity => ({
	principal: 'ada',
	method: 'POST',
	route: '/charges',
	key,
})

/** All clocks of the server differ by `offsetMs` from those of the others. */
export function server(
	store: IdempotencyStore,
	offsetMs: number,
	options: Partial<IdempotencyOptions> = {},
): Server {
	const virtual = virtualRuntime()
	let wallOffsetMs = offsetMs
	let monotonicOffsetMs = STARTED_AT + offsetMs
	const runtime: Runtime = {
		now: () => virtual.now() + monotonicOffsetMs,
		wallNow: () => virtual.wallNow() + wallOffsetMs,
		setTimer: (ms, fn) => virtual.setTimer(ms, fn),
		random: () => virtual.random(),
	}
	const engine = idempotency({
		name: 'payments',
		store,
		runtime,
		principal: () => 'ada',
		waitMs: 0,
		...options,
	})
	const run = async <T>(call: (engine: IdempotencyEngine) => T | Promise<T>): Promise<T> => {
		const replaced = vi.spyOn(Date, 'now').mockImplementation(() => machineTime() + wallOffsetMs)
		try {
			return await call(engine)
		} finally {
			replaced.mockRestore()
		}
	}
	return {
		engine,
		run,
		advance: (ms) => run(() => virtual.advance(ms)),
		setClock(byMs) {
			wallOffsetMs += byMs
		},
		suspend(ms) {
			wallOffsetMs += ms
			monotonicOffsetMs += ms
		},
		begin: (key) => run(() => engine.begin(identityOf(key), 'f1')),
	}
}

export function claimOf(result: BeginResult): IdempotencyClaim {
	if (result.kind !== 'run') throw new Error(`expected run, got ${result.kind}`)
	return result.claim
}
