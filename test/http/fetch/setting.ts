/**
 * What the tests of `resilientFetch` share: a server that fails as it is told, real sockets, and a clock of the test's own. A wait
 * between attempts ends at once unless it is held; a timeout comes only when the test moves the clock. So nothing sleeps, and a slow
 * machine changes nothing.
 */
import { type Dispatcher, fetch as undiciFetch } from 'undici'
import { onTestFinished } from 'vitest'
import type { Runtime } from 'yaoki'
import { type ResilientFetch, type ResilientFetchOptions, resilientFetch } from 'yaoki/http'
import { type VirtualRuntime, virtualRuntime } from 'yaoki/testing'
import { answer, type FaultServer, gate, type Step, startFaultServer } from '../faults/fault-server.ts'
import type { SeenRequest } from '../faults/ledger.ts'
import type { Script } from '../faults/script.ts'

export interface Clock {
	readonly time: VirtualRuntime
	readonly runtime: Runtime
	/** The waits that were begun, in milliseconds. */
	readonly waits: readonly number[]
	/** Resolves when the first wait has begun. */
	readonly waiting: Promise<void>
}

/** A clock on which waits end at once, or when the test says so. */
function clockOf(areWaitsHeld = false): Clock {
	const time = virtualRuntime()
	const waits: number[] = []
	const { opened, open } = gate()
	const setTimer: Runtime['setTimer'] = (ms, fn, kind) => {
		const cancel = time.setTimer(ms, fn, kind)
		if (kind !== undefined && kind !== 'wait') return cancel
		waits.push(ms)
		open()
		if (!areWaitsHeld) setImmediate(() => void time.advance(ms))
		return cancel
	}
	const runtime = {
		now: () => time.now(),
		wallNow: () => time.wallNow(),
		random: () => time.random(),
		setTimer,
	}
	return { time, runtime, waits, waiting: opened }
}

export interface SettingOptions extends ResilientFetchOptions {
	/** Do waits last until the test moves the clock? Default: they end at once. */
	readonly areWaitsHeld?: boolean
}

export interface Setting extends Clock {
	readonly server: FaultServer
	readonly fetch: ResilientFetch
	/** The address of the server. */
	readonly url: string
}

/** Two retries, 100 ms and 200 ms apart, and neither a breaker nor a budget in the way. */
const PLAIN: ResilientFetchOptions = {
	maxRetries: 2,
	baseDelayMs: 100,
	jitterStrategy: 'none',
	circuitBreaker: false,
	budget: false,
}

export async function setting(script: Script<Step>, options: SettingOptions = {}): Promise<Setting> {
	const { areWaitsHeld, ...own } = options
	const server = await startFaultServer(script)
	onTestFinished(() => server.close())
	const clock = clockOf(areWaitsHeld)
	const fetch = resilientFetch({ ...PLAIN, runtime: clock.runtime, ...own })
	return { ...clock, server, fetch, url: server.url() }
}

/** The same without a server of its own. */
export function fetching(options: ResilientFetchOptions = {}): Clock & { readonly fetch: ResilientFetch } {
	const clock = clockOf()
	return { ...clock, fetch: resilientFetch({ ...PLAIN, runtime: clock.runtime, ...options }) }
}

export const FINE: Step = answer({ body: 'fine' })
export const BUSY: Step = answer({ status: 503, body: 'busy' })

/** An answer of this status, with or without headers. */
export const status = (code: number, headers: Readonly<Record<string, string>> = {}): Step =>
	answer({ status: code, headers, body: `said ${code}` })

/** Every path fails once as it is told, and is fine from then on. */
export function failingOnce(fault: Step): (request: SeenRequest) => Step {
	const seen = new Set<string>()
	return ({ path }) => {
		if (seen.has(path)) return FINE
		seen.add(path)
		return fault
	}
}

/** What a request failed with, which has to be an error. */
export async function failure(request: Promise<unknown>): Promise<Error> {
	const error = await request.then(
		() => new Error('it did not fail'),
		(thrown: unknown) => thrown,
	)
	if (!(error instanceof Error)) throw new TypeError('not an error', { cause: error })
	return error
}

/** Half a body, and the rest once this has come. */
export const interrupted = (resumed: Promise<unknown>): Step => ({
	async play(exchange) {
		await exchange.sendHead(200, {})
		await exchange.send('one, ')
		await resumed
		await exchange.send('two')
		exchange.response.end()
	},
})

/** The `fetch` of undici with a pool of its own. Two packages say `Response`, and mean the same. */
export function through(dispatcher: Dispatcher): typeof fetch {
	const send: unknown = (url: string, init: object) => undiciFetch(url, { ...init, dispatcher })
	return send as typeof fetch
}
