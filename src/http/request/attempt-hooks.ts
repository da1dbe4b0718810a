/** Runs the user's hooks inside an attempt: their time counts for its timeout, and an abort does not wait for them. */
import { invalidOption } from '../../core/options/schema.ts'
import type { Runtime } from '../../core/runtime/runtime.ts'
import type { AttemptRequest, RequestHooks } from '../options/request-hooks.ts'
import { moveToUrlOf } from '../transport/rebuild-response.ts'
import { discardBody } from '../transport/request-body.ts'
import { isResponse } from '../transport/transport.ts'
import type { AttemptScope } from './attempt-scope.ts'
import { drainBody } from './drain-body.ts'
import { untilAbort } from './until-abort.ts'

/** Calls `onRequest`. A body that was created for this attempt is closed if it is not sent. */
export async function runOnRequest(
	hook: NonNullable<RequestHooks['onRequest']>,
	request: AttemptRequest,
	isBodyCreated: boolean,
	scope: AttemptScope,
): Promise<void> {
	const { signal, body } = request
	try {
		await untilAbort(signal, () => hook(request))
	} catch (error) {
		// After an abort, the call ends for another reason.
		scope.hasHookThrown = !signal.aborted
		if (isBodyCreated) discardBody(body, error)
		throw error
	}
}

/** Calls `onResponse` and returns its response, or the given one. What the caller does not receive is drained. */
export async function runOnResponse(
	hook: NonNullable<RequestHooks['onResponse']>,
	response: Response,
	request: AttemptRequest,
	scope: AttemptScope,
	runtime: Runtime,
): Promise<Response> {
	const { signal } = request
	try {
		const result = await untilAbort(signal, async () => {
			const replacement = await hook(response, request)
			if (replacement && signal.aborted) void drainBody(replacement, runtime)
			return replacement
		})
		if (!result || result === response) return response
		if (!isResponse(result)) invalidOption('onResponse(response)', result, 'a Response or nothing')
		// A response around the same stream reads it. One around a branch of it has locked it, which ends draining immediately.
		if (result.body !== response.body) void drainBody(response, runtime)
		return moveToUrlOf(response, result)
	} catch (error) {
		scope.hasHookThrown = !signal.aborted
		void drainBody(response, runtime)
		throw error
	}
}

/** Calls `validateResponse` with a copy. Returns whether the response is valid; if the function throws, the response is drained. */
export async function isValid(
	validate: NonNullable<RequestHooks['validateResponse']>,
	response: Response,
	request: AttemptRequest,
	scope: AttemptScope,
	runtime: Runtime,
): Promise<boolean> {
	const copy = response.clone()
	try {
		return (await untilAbort(request.signal, () => validate(copy, request))) !== false
	} catch (error) {
		scope.hasResponse = true
		void drainBody(response, runtime)
		throw error
	} finally {
		// The stream would keep for an unread copy all that the caller reads.
		if (!copy.body?.locked) copy.body?.cancel().catch(() => {})
	}
}
