import { permanent } from '../../core/classify/permanent.ts'
import { type BodySource, discardBody } from '../transport/request-body.ts'

/** Calls the caller's body factory. Its error is permanent: a retry would throw it again. A body that comes too late is closed. */
export async function createBody(
	factory: () => BodySource | Promise<BodySource>,
	signal: AbortSignal,
): Promise<BodySource> {
	let body: BodySource
	try {
		body = await factory()
	} catch (error) {
		throw typeof error === 'object' && error !== null ? permanent(error) : error
	}
	if (!signal.aborted) return body
	discardBody(body, signal.reason)
	throw signal.reason
}
