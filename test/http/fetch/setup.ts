/**
 * Shared by the request tests: a fault server on real sockets, and a clock that the test controls. A wait
 * between attempts ends immediately unless it is held; a timeout expires only when the test advances the clock. So nothing sleeps, and a slow
 * machine changes nothing. Both senders must behave the same, so the suites run over both.
 */
import { onTestFinished } from 'vitest'
import type { Runtime } from 'yaoki'
import { type ResilientFetch, type ResilientFetchOptions, resilientFetch } from 'yaoki/http'
import { type VirtualRuntime, virtualRuntime } from 'yaoki/testing'
import { answer, deferred, type FaultServer, type Step, startFaultServer } from '../faults/fault-server.ts'
import type { SeenRequest } from '../faults/ledger.ts'
import type { Script } from '../faults/script.ts'
import { byClient, byFetch, type Make, type SenderOptions } from './senders.ts'

interface Clock {
	readonly time: VirtualRuntime
	readonly runtime: Runtime
	/** The waits that were started, in milliseconds. */
	readonly waits: readonly number[]
	/** Resolves when the first wait has begun. */
	readonly waiting: Promise<void>
}

/** A clock on which waits end immediately, or when the test advances it. */
function clockOf(areWaitsHeld = false): Clock {
	const time = virtualRuntime()
	const waits: number[] = []
	const { promise, resolve } = deferred()
	const setTimer: Runtime['setTimer'] = (ms, fn, kind) => {
		const cancel = time.setTimer(ms, fn, kind)
		if (kind !== undefined && kind !== 'wait') return cancel
		waits.push(ms)
		resolve()
		if (!areWaitsHeld) setImmediate(() => void time.advance(ms))
		return cancel
	}
	const runtime = {
		now: () => time.now(),
		wallNow: () => time.wallNow(),
		random: () => time.random(),
		setTimer,
	}
	return { time, runtime, waits, waiting: promise }
}

export interface SetupOptions extends SenderOptions {
	/** Whether waits last until the test advances the clock. Default: they end immediately. */
	readonly areWaitsHeld?: boolean
}

interface Fetching extends Clock {
	readonly fetch: ResilientFetch
}

interface Setup extends Fetching {
	readonly server: FaultServer
	/** The URL of the server. */
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

/** The sender of a suite, and its intended differences. */
export interface Sender {
	readonly name: string
	/** Whether it is `resilientFetch`. */
	readonly isFetch: boolean
	/** Returns the network error, which `fetch` wraps in a TypeError. */
	networkError(error: unknown): unknown
	/** A server with this script, and a sender for it. */
	setup(script: Script<Step>, options?: SetupOptions): Promise<Setup>
	/** The same without a server. */
	fetching(options?: SenderOptions): Fetching
}

function unwrapped(error: unknown): unknown {
	const isWrapper = error instanceof TypeError && /^(fetch failed|terminated)$/.test(error.message)
	if (!isWrapper) throw new Error('not what fetch throws for a failed connection', { cause: error })
	return error.cause
}

function senderOf(name: string, isFetch: boolean, make: Make): Sender {
	const fetchingOn = (clock: Clock, options: SenderOptions): Fetching => ({
		...clock,
		fetch: make({ ...PLAIN, runtime: clock.runtime, ...options }),
	})
	return {
		name,
		isFetch,
		networkError: unwrapped,
		async setup(script, { areWaitsHeld, ...options } = {}) {
			const server = await startFaultServer(script)
			onTestFinished(() => server.close())
			return { ...fetchingOn(clockOf(areWaitsHeld), options), server, url: server.url() }
		},
		fetching: (options = {}) => fetchingOn(clockOf(), options),
	}
}

const FETCH = senderOf('resilientFetch', true, byFetch)

/** All senders must behave the same. */
export const SENDERS: readonly Sender[] = [FETCH, senderOf('a client', false, byClient)]

/** For tests of `resilientFetch` only. */
export const { setup, fetching } = FETCH

export const FINE: Step = answer({ body: 'fine' })
export const BUSY: Step = answer({ status: 503, body: 'busy' })

/** A response with this status, with or without headers. */
export const status = (code: number, headers: Readonly<Record<string, string>> = {}): Step =>
	answer({ status: code, headers, body: `status ${code}` })

/** Every path fails once with this step, and then succeeds. */
export function failingOnce(fault: Step): (request: SeenRequest) => Step {
	const seen = new Set<string>()
	return ({ path }) => {
		if (seen.has(path)) return FINE
		seen.add(path)
		return fault
	}
}

/** Returns the error of a request. */
export async function failure(request: Promise<unknown>): Promise<Error> {
	const error = await request.then(
		() => new Error('it did not fail'),
		(thrown: unknown) => thrown,
	)
	if (!(error instanceof Error)) throw new TypeError('not an error', { cause: error })
	return error
}

/** Half a body, and the rest when this resolves. */
export const interrupted = (resumed: Promise<unknown>): Step => ({
	async play(exchange) {
		await exchange.sendHead(200, {})
		await exchange.send('one, ')
		await resumed
		await exchange.send('two')
		exchange.response.end()
	},
})

/** Returns the error of `resilientFetch` for invalid options. */
export function optionError(options: object): Error {
	try {
		resilientFetch(options)
	} catch (error) {
		if (error instanceof Error) return error
	}
	throw new Error('the options were accepted')
}
