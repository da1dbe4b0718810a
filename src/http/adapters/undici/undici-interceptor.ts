import { HttpEngine } from '../../client/http-engine.ts'
import { HTTP_RULES, type HttpOptions, readHttpOptions } from '../../options/http-options.ts'
import type { RequestOptions } from '../../options/request-options.ts'
import { HttpStatusError } from '../../request/status-error.ts'
import { CallerHandler } from './caller-handler.ts'
import { DispatchAttempt } from './dispatch-attempt.ts'
import { DispatchRequest } from './dispatch-request.ts'
import { isLegacy, LegacyHandlerAdapter } from './legacy-handler.ts'
import type { Dispatch, DispatchHandler, DispatchOptions } from './undici-types.ts'

/** What `dispatcher.compose` of undici takes, in the types of whichever version it is. */
export type UndiciInterceptor = <D extends (options: never, handler: never) => boolean>(dispatch: D) => D

/**
 * An interceptor for undici: whatever goes through the dispatcher that it is composed with is retried, held back and given its time, by the
 * same rules as with `resilientFetch`. That holds for `undici.request`, for `fetch` with a `dispatcher`, and for SDKs that take one. The
 * answer that comes in the end is the caller's, whatever its status is; upgrades and CONNECT are passed on as they are.
 *
 * The time for an attempt lasts until its body is there; only a `text/event-stream` may take longer. A body that is a stream is sent
 * once; `body: () => a new stream` is made for each attempt. `idempotent`, which undici takes itself, says whether a
 * request may be sent twice.
 *
 * @example
 * const dispatcher = new Agent().compose(undiciInterceptor({ maxRetries: 3 }))
 * const { statusCode, body } = await request('https://api.example.com/users/7', { dispatcher })
 */
export function undiciInterceptor(options: HttpOptions = {}): UndiciInterceptor {
	const engine = new HttpEngine(readHttpOptions(options, HTTP_RULES))
	let compositions = 0
	const intercept = (dispatch: Dispatch): Dispatch => {
		// A pool of undici 7 does not say where it sends its requests, but it is one place.
		const nameless = `pool-${++compositions}:`
		return (given, handler) => {
			if (!isRequest(given) || typeof handler !== 'object' || handler === null)
				return dispatch(given, handler)
			if (isLegacy(handler)) {
				// Those who still bring one know nothing of HTTP/2.
				const plain: DispatchOptions & { readonly allowH2: false } = { ...given, allowH2: false }
				send(engine, dispatch, plain, new LegacyHandlerAdapter(handler), nameless)
			} else send(engine, dispatch, given, handler, nameless)
			return true
		}
	}
	// The types of each version fit these, but not the other way round, as the compiler wants it of a function's function.
	return intercept as UndiciInterceptor
}

const isRequest = (options: DispatchOptions | null | undefined): boolean =>
	typeof options?.method === 'string' && options.method !== 'CONNECT' && !options.upgrade

function send(
	engine: HttpEngine,
	dispatch: Dispatch,
	options: DispatchOptions,
	handler: DispatchHandler,
	nameless: string,
): void {
	const caller = new CallerHandler(handler)
	if (!caller.begin()) return
	const url = urlOf(options, nameless)
	const attempts: DispatchAttempt[] = []
	const request = new DispatchRequest(url, options, (sent, signal) => {
		const attempt = new DispatchAttempt(url, caller, signal, engine.runtime)
		attempts.push(attempt)
		return attempt.open(dispatch, sent)
	})
	const ended = () => {
		// Of several at once, those that the caller did not get.
		for (const attempt of attempts) void attempt.discard()
	}
	engine.send(request, settingsOf(options), caller.signal).then(ended, (error: unknown) => {
		const answer = error instanceof HttpStatusError ? error.response : undefined
		if (answer instanceof DispatchAttempt) answer.give()
		else caller.refuse(error)
		ended()
	})
}

/** Only its origin matters: the path may be a whole URL, when it is meant for a proxy. */
function urlOf({ origin, path }: DispatchOptions, nameless: string): string {
	const start =
		typeof origin === 'string' && origin ? origin : origin instanceof URL ? origin.origin : nameless
	return String(path).startsWith('/') ? start + path : start
}

const NONE: RequestOptions = {}

const settingsOf = ({ idempotent }: DispatchOptions): RequestOptions =>
	typeof idempotent === 'boolean' ? { idempotent } : NONE
