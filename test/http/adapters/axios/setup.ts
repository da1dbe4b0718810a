/** Shared by the tests of the axios adapter: the real axios, a fault server, and waits that take no time. */
import axios, { type AxiosError, type AxiosInstance, type CreateAxiosDefaults } from 'axios'
import { onTestFinished } from 'vitest'
import type { Runtime } from 'yaoki'
import { type VirtualRuntime, virtualRuntime } from 'yaoki/testing'
import { type AxiosAdapterOptions, axiosAdapter } from '../../../../src/http/adapters/axios/axios-adapter.ts'
import type { RequestOptions } from '../../../../src/http/options/request-options.ts'
import { deferred, type FaultServer, type Step, startFaultServer } from '../../faults/fault-server.ts'
import type { Script } from '../../faults/script.ts'

// As TypeScript users declare it once.
declare module 'axios' {
	interface AxiosRequestConfig<D, P> {
		yaoki?: RequestOptions
	}
}

export interface Setup {
	readonly server: FaultServer
	readonly api: AxiosInstance
	readonly clock: VirtualRuntime
	/** The waits between attempts, in milliseconds. */
	readonly waits: readonly number[]
	/** Resolves when the first wait has begun. */
	readonly waiting: Promise<void>
}

export interface SetupOptions extends AxiosAdapterOptions {
	/** Whether waits last until the test advances the clock. Default: they end immediately. */
	readonly areWaitsHeld?: boolean
	readonly axiosDefaults?: CreateAxiosDefaults
}

/** An instance of axios with the adapter, for a server with this script. */
export async function setup(script: Script<Step>, options: SetupOptions = {}): Promise<Setup> {
	const { areWaitsHeld = false, axiosDefaults, ...own } = options
	const server = await startFaultServer(script)
	onTestFinished(() => server.close())
	const clock = virtualRuntime()
	const waits: number[] = []
	const wait = deferred()
	const runtime: Runtime = {
		now: () => clock.now(),
		wallNow: () => clock.wallNow(),
		random: () => clock.random(),
		setTimer(ms, fn, kind = 'wait') {
			if (kind === 'wait') {
				waits.push(ms)
				wait.resolve()
				if (!areWaitsHeld) setImmediate(() => clock.advance(ms).catch(() => {}))
			}
			return clock.setTimer(ms, fn, kind)
		},
	}
	const adapter = axiosAdapter(axios, { runtime, baseDelayMs: 100, jitterStrategy: 'none', ...own })
	const api = axios.create({ baseURL: server.origin, adapter, ...axiosDefaults })
	return { server, api, clock, waits, waiting: wait.promise }
}

/** Returns the error of a request, which must be an AxiosError. */
export async function axiosFailure(request: Promise<unknown>): Promise<AxiosError> {
	const error = await failure(request)
	if (!axios.isAxiosError(error)) throw new Error('not an error of axios', { cause: error })
	return error
}

/** Returns the error of a request. */
export async function failure(request: Promise<unknown>): Promise<unknown> {
	return request.then(
		() => {
			throw new Error('it did not fail')
		},
		(error: unknown) => error,
	)
}
