import { reportAsResult } from '../../../core/engine/call-record.ts'
import { copyRecord } from '../../../core/explain/record.ts'
import { HttpEngine } from '../../client/http-engine.ts'
import { HTTP_SCHEMA, type HttpOptions, readHttpOptions } from '../../options/http-options.ts'
import type { RequestOptions } from '../../options/request-options.ts'
import { HttpStatusError } from '../../request/status-error.ts'
import { CallerHandler } from './caller-handler.ts'
import { DispatchAttempt } from './dispatch-attempt.ts'
import { DispatchRequest } from './dispatch-request.ts'
import { adaptLegacyHandler, isLegacy } from './legacy-handler.ts'
import type { Dispatch, DispatchHandler, DispatchOptions } from './undici-types.ts'

/** An interceptor for `dispatcher.compose`, with the types of the installed undici version. */
export type UndiciInterceptor = <D extends (options: never, handler: never) => boolean>(dispatch: D) => D

/**
 * Creates an undici interceptor with the behavior of `resilientFetch`: retries, a circuit breaker per origin,
 * Retry-After, timeouts. It applies to everything that uses the composed dispatcher: `undici.request`,
 * `fetch` with a `dispatcher`, and SDKs that accept one. The caller receives the final response, whatever its
 * status. Upgrades and CONNECT are passed through.
 *
 * The attempt timeout includes the body, except for `text/event-stream`. A stream body is sent once;
 * `body: () => a new stream` is called for each attempt. undici's own option `idempotent` says whether a
 * request may be sent twice.
 *
 * @example
 * import { Agent, request } from 'undici'
 *
 * const dispatcher = new Agent().compose(undiciInterceptor({ maxRetries: 3 }))
 * const { statusCode, body } = await request('https://api.example.com/users/7', { dispatcher })
 */
export function undiciInterceptor(options: HttpOptions = {}): UndiciInterceptor {
	const engine = new HttpEngine(readHttpOptions(options, HTTP_SCHEMA, 'undiciInterceptor'))
	let compositions = 0
	const intercept = (dispatch: Dispatch): Dispatch => {
		// A pool of undici 7 does not report its origin, but it has only one.
		const poolName = `pool-${++compositions}:`
		return (given, handler) => {
			if (!isRequest(given) || typeof handler !== 'object' || handler === null)
				return dispatch(given, handler)
			if (isLegacy(handler)) {
				// Handlers of the older kind do not support HTTP/2.
				const plain: DispatchOptions & { readonly allowH2: false } = { ...given, allowH2: false }
				send(engine, dispatch, plain, adaptLegacyHandler(handler), poolName)
			} else send(engine, dispatch, given, handler, poolName)
			return true
		}
	}
	// Handlers of each version fit these types, but parameters of function types are checked the other way
	// round.
	return intercept as UndiciInterceptor
}

const isRequest = (options: DispatchOptions | null | undefined): boolean =>
	typeof options?.method === 'string' && options.method !== 'CONNECT' && !options.upgrade

function send(
	engine: HttpEngine,
	dispatch: Dispatch,
	options: DispatchOptions,
	handler: DispatchHandler,
	poolName: string,
): void {
	const caller = new CallerHandler(handler)
	if (!caller.start()) return
	const url = urlOf(options, poolName)
	const attempts: DispatchAttempt[] = []
	const request = new DispatchRequest(url, options, (sent, init) => {
		const attempt = new DispatchAttempt(url, caller, init, engine.runtime)
		attempts.push(attempt)
		return attempt.start(dispatch, sent)
	})
	const drainOthers = () => {
		// The responses of hedges that lost.
		for (const attempt of attempts) void attempt.drain()
	}
	engine.send(request, requestOptionsOf(options), caller.signal).then(drainOthers, (error: unknown) => {
		const response = error instanceof HttpStatusError ? error.response : undefined
		if (response instanceof DispatchAttempt) {
			reportAsResult(error)
			// The handler may be the attempt of another interceptor, which must not repeat exhausted retries.
			copyRecord(error, handler)
			response.deliver()
		} else caller.failUnlessClaimed(error)
		drainOthers()
	})
}

/** Only the origin matters: for a proxy the path may be a whole URL. */
function urlOf({ origin, path }: DispatchOptions, poolName: string): string {
	const start =
		typeof origin === 'string' && origin ? origin : origin instanceof URL ? origin.origin : poolName
	return String(path).startsWith('/') ? start + path : start
}

const NONE: RequestOptions = {}

const requestOptionsOf = ({ idempotent }: DispatchOptions): RequestOptions =>
	typeof idempotent === 'boolean' ? { idempotent } : NONE
