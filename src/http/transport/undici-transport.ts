/**
 * Requests over undici's `request`, which costs less than half of `fetch`, with the manners of `fetch`: redirects,
 * compressed bodies, aborts. What `fetch` does for a page in a browser (CORS, caches, referrers) it does not do.
 */
import { checkNames, invalidOption, type OptionSchema, readOptions } from '../../core/options/schema.ts'
import type { Runtime } from '../../core/runtime/runtime.ts'
import { systemRuntime } from '../../core/runtime/system.ts'
import { isRedirect, markProcessed, nextHop } from './redirect.ts'
import type { AbortListenable, ListenableInit, Transport, TransportInit } from './transport.ts'
import { UndiciAbort } from './undici-abort.ts'
import type { UndiciModule } from './undici-module.ts'
import { UndiciResponse } from './undici-response.ts'
import { toWireRequest } from './wire-request.ts'

/** How requests are sent over undici. */
export interface UndiciTransportOptions {
	/** An undici `Agent`, `Pool`, `ProxyAgent` or the like. Default: undici's global one. */
	readonly dispatcher?: object | undefined
	/** How many redirects one request follows. Default 20, as `fetch` does. */
	readonly maxRedirects?: number | undefined
	/** Time, for bodies that are thrown away. Default: the system's. */
	readonly runtime?: Runtime | undefined
}

interface Settings {
	readonly dispatcher?: object | undefined
	readonly maxRedirects: number
	readonly runtime?: Runtime | undefined
}

const RULES: OptionSchema = { dispatcher: 'any', maxRedirects: [0, 1_000, 20], runtime: 'any' }

/**
 * A transport over undici's `request`. Errors of the network are undici's own.
 *
 * @example
 * import * as undici from 'undici'
 *
 * const client = new ResilientHttpClient({ transport: undiciTransport(undici) })
 */
export function undiciTransport(
	undici: UndiciModule,
	options: UndiciTransportOptions = {},
): Transport<UndiciResponse> {
	const { dispatcher, maxRedirects, runtime = systemRuntime } = read(undici, options)

	const send = async (
		address: string,
		init: Omit<TransportInit, 'signal'>,
		signal: AbortListenable | AbortSignal,
	): Promise<UndiciResponse> => {
		const { redirect } = init
		// Who gives a notice answers its caller itself, and need not be told of an abort before undici is.
		const isReal = 'throwIfAborted' in signal
		if (isReal) signal.throwIfAborted()
		refuseCredentials(address)
		let url = address
		let request = toWireRequest(init)
		for (let redirects = 0; ; redirects++) {
			const { method, headers, body } = request
			const notice = isReal ? new UndiciAbort(signal) : signal
			const sent = undici.request(url, { method, headers, body, signal: notice, dispatcher })
			const asked = redirects ? sent.catch(failedBehind) : sent
			const answer = await (notice instanceof UndiciAbort ? notice.answer(asked) : asked)
			const response = new UndiciResponse(url, redirects > 0, method, answer, notice, runtime)
			if (!isRedirect(response.status) || redirect === 'manual') return response
			const location = response.header('location')
			if (location === null && redirect !== 'error') return response
			// Not awaited: most often it is all there, and a slow one should not hold up the next request.
			void response.discard()
			if (redirect === 'error') throw new TypeError('unexpected redirect')
			if (redirects >= maxRedirects) throw new TypeError('redirect count exceeded')
			;({ url, request } = nextHop(url, request, response.status, location ?? ''))
		}
	}
	const transport: Transport<UndiciResponse> = (url, init) => send(url, init, init.signal)
	return Object.assign(transport, {
		withNotice: (url: string, init: ListenableInit) => send(url, init, init.notice),
	})
}

function read(undici: UndiciModule, options: UndiciTransportOptions): Settings {
	if (typeof undici?.request !== 'function')
		invalidOption('undiciTransport(undici)', undici, 'the undici module, as in import * as undici')
	checkNames(options, RULES)
	const settings = readOptions<Settings>(options, RULES)
	const { dispatcher, maxRedirects } = settings
	if (maxRedirects % 1) invalidOption('maxRedirects', maxRedirects, 'a whole number')
	if (dispatcher !== undefined && !(Object(dispatcher) === dispatcher && 'dispatch' in dispatcher))
		invalidOption('dispatcher', dispatcher, 'a dispatcher of undici, such as new Agent()')
	return settings
}

/** Who sent the redirect has seen the request, however the next one fails. */
const failedBehind = (error: unknown): never => {
	throw markProcessed(error)
}

/** undici would send the request without them, and the answer would be a 401 that nobody understands. */
function refuseCredentials(address: string): void {
	if (!address.includes('@')) return
	const { username, password } = new URL(address)
	if (username || password)
		throw new TypeError('a URL with credentials can not be requested; use the authorization header')
}
