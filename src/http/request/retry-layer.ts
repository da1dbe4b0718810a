import { Call } from '../../core/engine/call.ts'
import type { CallOptions } from '../../core/engine/call-options.ts'
import { Context } from '../../core/engine/context.ts'
import { RetryLayer } from '../../core/retry/layer.ts'

/**
 * Does a retry around this call want to be the only one, be it in this process or in that of a caller? Then a request that is
 * sent from here says so, too: the wish would otherwise end at the second service.
 *
 * @example
 * if (isLeftToOutermost(context)) headers['x-retry-layer'] = 'outermost'
 */
export function isLeftToOutermost(context: CallOptions | undefined): boolean {
	const first = Context.callOf(Context.of(context))
	for (let call = first instanceof Call ? first : undefined; call; call = call.parentCall)
		for (let bound = call.current; bound; bound = bound.outer)
			if (bound.layer instanceof RetryLayer && bound.layer.settings.nested === 'outermost') return true
	return false
}
