import { Call } from '../../core/engine/call.ts'
import type { CallOptions } from '../../core/engine/call-options.ts'
import { Context } from '../../core/engine/context.ts'
import { RetryLayer } from '../../core/retry/layer.ts'

/**
 * Returns true if a retry layer around this call, in this process or at a caller, is set to `nested: 'outermost'`. Requests then send
 * `x-retry-layer`, or the setting would end at the second service.
 */
export function hasOutermostRetry(context: CallOptions | undefined): boolean {
	const first = Context.callOf(Context.of(context))
	for (let call = first instanceof Call ? first : undefined; call; call = call.parentCall)
		for (let bound = call.current; bound; bound = bound.outer)
			if (bound.layer instanceof RetryLayer && bound.layer.settings.nested === 'outermost') return true
	return false
}
