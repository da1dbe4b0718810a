/**
 * Shared by the tests of the client: one suite for both kinds of `fetch`, fault servers on real sockets, and a clock that
 * the test controls. Only time is virtual: the network is real, and tests wait for its events.
 */
import * as undici from 'undici'
import { onTestFinished } from 'vitest'
import type { Runtime, YaokiEvent } from 'yaoki'
import { type HttpClientOptions, ResilientHttpClient } from 'yaoki/http'
import { type VirtualRuntime, virtualRuntime } from 'yaoki/testing'
import { type FaultServer, type Step, startFaultServer } from '../faults/fault-server.ts'
import type { Script } from '../faults/script.ts'

// Its types differ from the platform's, its behavior does not.
const undiciFetch: unknown = undici.fetch

/** The client behaves the same over each of them; undefined is the global one. The responses of undici have their own class. */
export const FETCHES: readonly (readonly [name: string, fetch: typeof globalThis.fetch | undefined])[] = [
	['fetch', undefined],
	['the fetch of undici', undiciFetch as typeof globalThis.fetch],
]

export type Client = ResilientHttpClient

export interface SetupOptions extends Omit<HttpClientOptions, 'runtime' | 'onEvent'> {
	/** Whether waits last until the test advances the clock. Default: time jumps to the end of each. */
	readonly areWaitsHeld?: boolean
	readonly seed?: number
}

export interface VirtualTime {
	readonly clock: VirtualRuntime
	readonly runtime: Runtime
	/** The waits so far, in milliseconds. */
	readonly waits: readonly number[]
	/** Resolves when `n` waits have started. */
	waiting(n: number): Promise<void>
}

export interface Setup extends VirtualTime {
	readonly server: FaultServer
	readonly client: Client
	readonly events: readonly YaokiEvent[]
}

/** A clock whose waits either take no time or last until the test advances it. Timeouts never expire by themselves. */
export function virtualTime({ areWaitsHeld = false, seed = 1 }: SetupOptions = {}): VirtualTime {
	const clock = virtualRuntime({ seed })
	const waits: number[] = []
	const waiters: { n: number; resolve: () => void }[] = []
	const runtime: Runtime = {
		now: () => clock.now(),
		wallNow: () => clock.wallNow(),
		random: () => clock.random(),
		setTimer(ms, fn, kind = 'wait') {
			const cancel = clock.setTimer(ms, fn, kind)
			if (kind !== 'wait') return cancel
			waits.push(ms)
			const end = clock.now() + ms
			if (!areWaitsHeld) setImmediate(() => clock.advance(Math.max(0, end - clock.now())))
			for (const { n, resolve } of waiters) if (waits.length >= n) resolve()
			return cancel
		},
	}
	const waiting = (n: number) =>
		new Promise<void>((resolve) => {
			waiters.push({ n, resolve })
			if (waits.length >= n) resolve()
		})
	return { clock, runtime, waits, waiting }
}

/** A server with this script, closed after the test. */
export async function serve(script?: Script<Step>): Promise<FaultServer> {
	const server = await startFaultServer(script)
	onTestFinished(() => server.close())
	return server
}

/** A server with this script and a client for it. Delays between attempts are exactly 100 ms by default. */
export async function setup(
	fetch: typeof globalThis.fetch | undefined,
	script: Script<Step>,
	{ areWaitsHeld, seed, ...options }: SetupOptions = {},
): Promise<Setup> {
	const server = await serve(script)
	const time = virtualTime({ ...(areWaitsHeld && { areWaitsHeld }), ...(seed && { seed }) })
	const events: YaokiEvent[] = []
	const client = new ResilientHttpClient({
		fetch,
		runtime: time.runtime,
		onEvent: (event) => events.push(event),
		baseDelayMs: 100,
		growth: 'constant',
		jitterStrategy: 'none',
		...options,
	})
	return { server, client, events, ...time }
}

/** Returns the text of a response. */
export const textOf = async (answer: Promise<Response>): Promise<string> => (await answer).text()

/** Returns the reason of a rejected promise. */
export function failure(promise: Promise<unknown>): Promise<unknown> {
	return promise.then(
		() => {
			throw new Error('it did not fail')
		},
		(error: unknown) => error,
	)
}
