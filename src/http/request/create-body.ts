import { permanent } from '../../core/classify/permanent.ts'
import type { SignalLink } from '../../core/engine/scope.ts'
import { type BodySource, discardBody } from '../transport/request-body.ts'
import { LazyAbortSignal } from './lazy-abort-signal.ts'

/** Calls the caller's body factory. Its error is permanent: a retry would throw it again. A body that comes too late is closed. */
export async function createBody(
	factory: () => BodySource | Promise<BodySource>,
	link: SignalLink,
): Promise<BodySource> {
	let body: BodySource
	try {
		body = await factory()
	} catch (error) {
		throw typeof error === 'object' && error !== null ? permanent(error) : error
	}
	if (!isAborted(link)) return body
	discardBody(body, abortReason(link))
	throw abortReason(link)
}

export const isAborted = (link: SignalLink): boolean =>
	link instanceof LazyAbortSignal ? link.isAborted : link.signal.aborted

export const abortReason = (link: SignalLink): unknown =>
	(link instanceof LazyAbortSignal ? link : link.signal).reason
