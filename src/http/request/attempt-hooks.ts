/** Runs the user's functions inside an attempt. Its timeout includes them; an abort does not wait for them. */
import { permanent } from '../../core/classify/permanent.ts'
import { invalidOption } from '../../core/options/schema.ts'
import type { AttemptRequest, RequestHooks } from '../options/request-hooks.ts'
import { type BodySource, discardBody } from '../transport/request.ts'
import { isResponse, moveToUrlOf } from '../transport/response.ts'
import type { Attempt } from './attempt.ts'
import { drainBody } from './drain-body.ts'

/** The hooks `onRequest`, `onResponse` and `validateResponse` in one attempt. */
export class AttemptHooks {
	readonly #hooks: RequestHooks
	readonly #request: AttemptRequest
	readonly #attempt: Attempt

	constructor(hooks: RequestHooks, request: AttemptRequest, attempt: Attempt) {
		this.#hooks = hooks
		this.#request = request
		this.#attempt = attempt
	}

	/** Calls `onRequest`. A body that was created for this attempt is closed if it is not sent. */
	async onRequest(isBodyCreated: boolean): Promise<void> {
		const { onRequest } = this.#hooks
		if (!onRequest) return
		const request = this.#request
		try {
			await untilAbort(request.signal, () => onRequest(request))
		} catch (error) {
			this.#onThrown()
			if (isBodyCreated) discardBody(request.body, error)
			throw error
		}
	}

	/** Calls `onResponse` and returns its response or the given one. A replaced response is drained. */
	async onResponse(response: Response): Promise<Response> {
		const { onResponse } = this.#hooks
		if (!onResponse) return response
		const request = this.#request
		const { signal } = request
		try {
			const result = await untilAbort(signal, async () => {
				const replacement = await onResponse(response, request)
				if (replacement && signal.aborted) this.#drain(replacement)
				return replacement
			})
			if (!result || result === response) return response
			if (!isResponse(result)) invalidOption('onResponse(response)', result, 'a Response or nothing')
			// A response around the same stream reads it. One around a branch of it has locked it, which ends
			// draining immediately.
			if (result.body !== response.body) this.#drain(response)
			return moveToUrlOf(response, result)
		} catch (error) {
			this.#onThrown()
			this.#drain(response)
			throw error
		}
	}

	/** Calls `validateResponse` with a copy of a 2xx response. If it throws, the response is drained. */
	async isValid(response: Response): Promise<boolean> {
		const { validateResponse } = this.#hooks
		if (!validateResponse || !response.ok) return true
		const request = this.#request
		const copy = response.clone()
		try {
			return (await untilAbort(request.signal, () => validateResponse(copy, request))) !== false
		} catch (error) {
			this.#attempt.hasResponse = true
			this.#drain(response)
			throw error
		} finally {
			// The stream would keep for an unread copy all that the caller reads.
			if (!copy.body?.locked) copy.body?.cancel().catch(() => {})
		}
	}

	#drain(response: Response): void {
		void drainBody(response, this.#attempt.bound.runtime)
	}

	/** After an abort, the call ends for another reason. */
	#onThrown(): void {
		this.#attempt.hasHookThrown = !this.#request.signal.aborted
	}
}

/**
 * Calls the caller's body factory. Its error is permanent: a retry would throw it again. An abort does not
 * wait for it, and a body that comes too late is closed.
 */
export async function createBody(
	factory: () => BodySource | Promise<BodySource>,
	signal: AbortSignal,
): Promise<BodySource> {
	let body: BodySource
	const create = async () => {
		try {
			body = await factory()
		} catch (error) {
			throw typeof error === 'object' && error !== null ? permanent(error) : error
		}
		if (signal.aborted) discardBody(body, signal.reason)
	}
	try {
		await untilAbort(signal, create)
		return body
	} catch (error) {
		discardBody(body, error)
		throw error
	}
}

/**
 * Returns the result of a user's function. Rejects with its error, or as soon as the signal is aborted: the
 * function may ignore it, and is not called after an abort.
 */
export async function untilAbort<T>(signal: AbortSignal, run: () => T): Promise<Awaited<T>> {
	signal.throwIfAborted()
	let onAbort = () => {}
	const aborted = new Promise<never>((_, reject) => {
		onAbort = () => reject(signal.reason)
	})
	signal.addEventListener('abort', onAbort)
	try {
		const result = await Promise.race([run(), aborted])
		signal.throwIfAborted()
		return result
	} finally {
		signal.removeEventListener('abort', onAbort)
	}
}
