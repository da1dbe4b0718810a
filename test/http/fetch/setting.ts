/**
 * What the tests of requests share: a server that fails as it is told, real sockets, and a clock of the test's own. A wait
 * between attempts ends at once unless it is held; a timeout comes only when the test moves the clock. So nothing sleeps, and a slow
 * machine changes nothing. Behaviour is promised over both senders, so the suites about it run over both.
 */
import { onTestFinished } from 'vitest'
import type { Runtime } from 'yaoki'
import { type ResilientFetch, type ResilientFetchOptions, resilientFetch } from 'yaoki/http'
import { type VirtualRuntime, virtualRuntime } from 'yaoki/testing'
import { answer, type FaultServer, gate, type Step, startFaultServer } from '../faults/fault-server.ts'
import type { SeenRequest } from '../faults/ledger.ts'
import type { Script } from '../faults/script.ts'
import { byClient, byFetch, type Make, type SenderOptions } from './senders.ts'

interface Clock {
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

export interface SettingOptions extends SenderOptions {
	/** Do waits last until the test moves the clock? Default: they end at once. */
	readonly areWaitsHeld?: boolean
}

interface Fetching extends Clock {
	readonly fetch: ResilientFetch
}

interface Setting extends Fetching {
	readonly server: FaultServer
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

/** What sends the requests of a suite, and how it differs from the other on purpose. */
export interface Sender {
	readonly name: string
	/** Is it `fetch`, with habits that are not ours? */
	readonly isFetch: boolean
	/** What the network said. `fetch` wraps that into a TypeError of its own, on purpose; undici's `request` throws it as it is. */
	networkError(error: unknown): unknown
	/** A server with this script, and what asks it. */
	setting(script: Script<Step>, options?: SettingOptions): Promise<Setting>
	/** The same without a server of its own. */
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
		networkError: isFetch ? unwrapped : (error) => error,
		async setting(script, { areWaitsHeld, ...options } = {}) {
			const server = await startFaultServer(script)
			onTestFinished(() => server.close())
			return { ...fetchingOn(clockOf(areWaitsHeld), options), server, url: server.url() }
		},
		fetching: (options = {}) => fetchingOn(clockOf(), options),
	}
}

const FETCH = senderOf('the fetch of the runtime', true, byFetch)

/** The promises are the same over each of them. */
export const SENDERS: readonly Sender[] = [FETCH, senderOf('a client with undici', false, byClient)]

/** For what only `resilientFetch` promises. */
export const { setting, fetching } = FETCH

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

/** What `resilientFetch` says to options that can not work. */
export function refused(options: object): Error {
	try {
		resilientFetch(options)
	} catch (error) {
		if (error instanceof Error) return error
	}
	throw new Error('it was not refused')
}
