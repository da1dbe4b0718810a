/**
 * Runs the user's hooks inside an attempt: their time counts for its timeout. An abort does not wait for them, because they may not
 * observe their signal.
 */
import type { Runtime } from '../../core/runtime/runtime.ts'
import type { AttemptRequest, RequestHooks } from '../options/request-hooks.ts'
import { moveToUrlOf } from '../transport/rebuild-response.ts'
import { discardBody } from '../transport/request-body.ts'
import type { HttpResponse } from '../transport/transport.ts'
import type { AttemptScope } from './attempt-scope.ts'
import { drainBody } from './drain-body.ts'

/** Returns the result of a hook. After its error or an abort, `discard` ends what the hook was called with. */
async function runHook<T>(
	scope: AttemptScope,
	signal: AbortSignal,
	hook: () => T,
	discard: (reason: unknown) => unknown,
): Promise<Awaited<T>> {
	let onAbort = () => {}
	const aborted = new Promise<never>((_, reject) => {
		onAbort = () => reject(signal.reason)
	})
	signal.addEventListener('abort', onAbort)
	try {
		const result = await Promise.race([hook(), aborted])
		signal.throwIfAborted()
		return result
	} catch (error) {
		// After an abort, the call ends for another reason.
		scope.hasHookThrown = !signal.aborted
		discard(error)
		throw error
	} finally {
		signal.removeEventListener('abort', onAbort)
	}
}

/** Calls `onRequest`. A body that was created for this attempt is closed if it is not sent. */
export const runOnRequest = (
	hook: NonNullable<RequestHooks['onRequest']>,
	request: AttemptRequest,
	isBodyCreated: boolean,
	scope: AttemptScope,
): Promise<unknown> =>
	runHook(
		scope,
		request.signal,
		() => hook(request),
		(reason) => isBodyCreated && discardBody(request.body, reason),
	)

/** Calls `onResponse` and returns its response, or the given one. What the caller does not receive is drained. */
export async function runOnResponse(
	hook: NonNullable<RequestHooks['onResponse']>,
	response: HttpResponse,
	request: AttemptRequest,
	scope: AttemptScope,
	runtime: Runtime,
): Promise<HttpResponse> {
	const { signal } = request
	const drain = () => void drainBody(response, runtime)
	const replace = async () => {
		// `fetch` returns real responses.
		const result = await hook(response as Response, request)
		if (result && signal.aborted) void drainBody(result, runtime)
		return result
	}
	const result = await runHook(scope, signal, replace, drain)
	if (!result || result === response) return response
	// A response around the same stream reads it. One around a branch of it has locked it, which ends draining immediately.
	if (result.body !== response.body) drain()
	return moveToUrlOf(response, result)
}
