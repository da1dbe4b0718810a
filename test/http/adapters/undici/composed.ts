import { Agent, type Dispatcher, request, fetch as undiciFetch } from 'undici'
import { onTestFinished } from 'vitest'
import { undiciInterceptor } from '../../../../src/http/adapters/undici/undici-interceptor.ts'
import type { HttpOptions } from '../../../../src/http/options/http-options.ts'
import { type VirtualRuntime, virtualRuntime } from '../../../../src/testing/virtual-runtime.ts'
import { type FaultServer, type Step, startFaultServer } from '../../faults/fault-server.ts'
import type { Script } from '../../faults/script.ts'

/** Short delays; tests about waits have their own clock. */
const QUICK: HttpOptions = { maxRetries: 3, baseDelayMs: 1, jitterStrategy: 'none' }

/** A pool of several opens a second one before it knows that the first is free again. */
export const ONE_CONNECTION: Agent.Options = { connections: 1 }

/** A dispatcher with the interceptor, closed after the test. */
export function composed(options: HttpOptions = {}, agentOptions: Agent.Options = {}): Dispatcher {
	const agent = new Agent(agentOptions)
	onTestFinished(() => agent.destroy())
	return agent.compose(undiciInterceptor({ ...QUICK, ...options }))
}

/** A server that plays a script, closed after the test. */
export async function serving(script: Script<Step>): Promise<FaultServer> {
	const server = await startFaultServer(script)
	onTestFinished(() => server.close())
	return server
}

/** The same with a clock that the test advances. */
export function inVirtualTime(
	options: HttpOptions = {},
	agentOptions: Agent.Options = ONE_CONNECTION,
): { dispatcher: Dispatcher; clock: VirtualRuntime } {
	const clock = virtualRuntime()
	return { dispatcher: composed({ runtime: clock, ...options }, agentOptions), clock }
}

interface Sent {
	readonly method?: 'GET' | 'POST' | 'PUT'
	readonly body?: string
	readonly headers?: Record<string, string>
	readonly signal?: AbortSignal
}

interface Answer {
	readonly status: number
	readonly text: string
}

/** Resolves when the head has arrived, and reads the body on request. */
type Open = (
	url: string,
	sent: Sent & { readonly dispatcher: Dispatcher },
) => Promise<{ readonly status: number; text(): Promise<string> }>

const byRequest: Open = async (url, sent) => {
	const { statusCode, body } = await request(url, sent)
	return { status: statusCode, text: () => body.text() }
}

const byNode: Open = (url, { dispatcher, ...sent }) => {
	const init: RequestInit & { readonly dispatcher: object } = { dispatcher, ...sent }
	return fetch(url, init)
}

const wrapped = (error: unknown): unknown => (error instanceof TypeError ? error.cause : error)

const way = (name: string, open: Open, causeOf: (error: unknown) => unknown) => ({
	name,
	open,
	async send(url: string, dispatcher: Dispatcher, sent: Sent = {}): Promise<Answer> {
		const response = await open(url, { dispatcher, ...sent })
		return { status: response.status, text: await response.text() }
	},
	/** `fetch` wraps what the network says. */
	causeOf,
})

/** The ways to send requests through a dispatcher. */
export const ways: readonly ReturnType<typeof way>[] = [
	way('undici.request', byRequest, (error) => error),
	way('undici.fetch', (url, sent) => undiciFetch(url, sent), wrapped),
	way('the fetch of Node', byNode, wrapped),
]

/** Returns the reason of a rejected promise. */
export async function failureOf(promise: Promise<unknown>): Promise<unknown> {
	try {
		await promise
	} catch (error) {
		return error
	}
	throw new Error('it did not fail')
}
