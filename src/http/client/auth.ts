/**
 * Bearer tokens: sends the current one, and renews it after a 401. All requests that were sent with the same
 * token share one refresh. The repeat is part of the attempt, because it is neither a retry nor a failure of
 * the server: the 401 says that nothing was processed.
 */
import { permanent } from '../../core/classify/permanent.ts'
import type { Call } from '../../core/engine/call.ts'
import { YaokiError } from '../../core/errors/errors.ts'
import { describeError } from '../../core/events/error-facts.ts'
import { checkNames, invalidOption, MAX_NUMBER, readOptions } from '../../core/options/schema.ts'
import { Timeout } from '../../core/timeout/timeout.ts'
import { createBody, untilAbort } from '../request/attempt-hooks.ts'
import { drainBody } from '../request/drain-body.ts'
import { HttpStatusError, setMessage } from '../request/status-error.ts'
import { redirectObserverOf } from '../transport/redirect.ts'
import { isReplayable, type PreparedRequest, type RequestBody } from '../transport/request.ts'
import type { HttpResponse } from '../transport/response.ts'
import type { HttpEngine } from './http-engine.ts'

/** How a client gets and renews its token: the option `auth` of a `ResilientHttpClient`. */
export interface AuthOptions {
	/**
	 * Returns the current token, which is sent as `authorization: Bearer ...`. Without a token the request is
	 * sent without the header.
	 */
	readonly token: () => string | null | undefined | Promise<string | null | undefined>
	/**
	 * Renews the token after a 401; afterwards `token` must return the new one. Called once for all requests
	 * that were sent with the same token. Default: none, a 401 is final.
	 */
	readonly refresh?: ((context: { readonly signal: AbortSignal }) => unknown) | undefined
}

const SCHEMA = { token: 'function', refresh: 'function' } as const

/** What a token may consist of. Anything else is an invalid header, whose error would contain the token. */
const TOKEN = /^[\x21-\x7e]+$/

export class Auth {
	readonly #options: AuthOptions
	/** The refreshes in flight, by the header of the token that was rejected. */
	readonly #pending = new Map<string | null, Promise<unknown>>()
	/** Counts refreshes that have ended. */
	#ended = 0
	#failed: { readonly header: string | null; readonly cause: unknown; readonly ended: number } | undefined

	/** Validates the options; an InvalidOptionError has a path without `auth`. */
	constructor(options: AuthOptions) {
		checkNames(options, SCHEMA, 'auth')
		readOptions(options, SCHEMA)
		if (!options.token) invalidOption('token', options.token, 'a function that returns the current token')
		this.#options = options
	}

	/** Returns the header with the current token; undefined if there is none. */
	async header(): Promise<string | undefined> {
		const token: unknown = await this.#options.token()
		if (token === undefined || token === null) return undefined
		if (typeof token === 'string' && TOKEN.test(token)) return `Bearer ${token}`
		return invalidOption('auth.token()', typeof token, 'a token without spaces, or undefined')
	}

	/** Returns a function that sends requests with this body, and repeats them after a 401. */
	sender(send: PreparedRequest['send'], body: RequestBody, engine: HttpEngine): PreparedRequest['send'] {
		return async (url, init) => {
			const endedBefore = this.#ended
			const response = await send(url, init)
			// A redirect may have led to another origin.
			if (response.status !== 401 || response.redirected || !isReplayable(body)) return response
			const { signal } = init
			const headers = new Headers(init.headers)
			const observer = redirectObserverOf(init)
			observer?.onRefresh(true)
			const rejected = headers.get('authorization')
			const header = await this.#renew(rejected, endedBefore, signal, engine)
			observer?.onRefresh(false)
			if (header === undefined) return response
			if (observer?.call) recordRepeat(observer.call, response)
			void drainBody(response, engine.runtime)
			headers.set('authorization', header)
			const again = typeof body === 'function' ? await createBody(body, signal) : init.body
			// The same object, which belongs to this attempt: if a redirect follows, it is sent with the new token
			// too.
			return send(url, Object.assign(init, { headers, body: again }))
		}
	}

	/** Returns the header of another token than the rejected one; undefined if there is none. */
	async #renew(
		rejected: string | null,
		endedBefore: number,
		signal: AbortSignal,
		engine: HttpEngine,
	): Promise<string | undefined> {
		try {
			return await untilAbort(signal, async () => {
				let header = await this.header()
				if ((header ?? null) === rejected && this.#options.refresh) {
					await this.#refresh(this.#options.refresh, rejected, endedBefore, engine)
					header = await this.header()
				}
				return header === rejected ? undefined : header
			})
		} catch (cause) {
			if (signal.aborted) throw signal.reason
			const { errorType, errorMessage } = describeError(cause)
			const message = `HTTP 401, renewing the token failed: ${errorType}: ${errorMessage}`
			throw permanent(new YaokiError('YAOKI_AUTH_REFRESH', message, { cause }))
		}
	}

	#refresh(
		refresh: NonNullable<AuthOptions['refresh']>,
		rejected: string | null,
		endedBefore: number,
		{ runtime, settings }: HttpEngine,
	): Promise<unknown> {
		const failed = this.#failed
		// It has failed since the request was sent: the responses of concurrent requests arrive one after the
		// other.
		if (failed?.header === rejected && failed.ended > endedBefore) return Promise.reject(failed.cause)
		const pending = this.#pending.get(rejected)
		if (pending !== undefined) return pending
		// Without a timeout, one refresh that hangs would block all later requests.
		const limit = new Timeout(Math.min(settings.timeout, MAX_NUMBER), { name: 'auth.refresh', runtime })
		const started = limit
			.execute(({ signal }) => untilAbort(signal, () => refresh({ signal })))
			.finally(() => {
				this.#ended++
				this.#pending.delete(rejected)
			})
			.catch((cause: unknown) => {
				this.#failed = { header: rejected, cause, ended: this.#ended }
				throw cause
			})
		this.#pending.set(rejected, started)
		return started
	}
}

/** Records that this response rejected the token, and that the request is sent again with another one. */
function recordRepeat(call: Call, response: HttpResponse): void {
	const now = call.pipeline.runtime.now()
	const error = new HttpStatusError(response)
	setMessage(error, `${error.message}, another token was sent`)
	call.rareState.keepsRecord = true
	call.lastAttempt = {
		previous: call.lastAttempt,
		attempt: call.attempt,
		startedAt: call.startedAt,
		endedAt: now,
		outcome: 'permanent',
		error,
		delayMs: 0,
		delaySource: 'immediate',
		queuedMs: call.queuedMs,
	}
	call.startedAt = now
}
