import { permanent } from '../../core/classify/permanent.ts'
import { type BodySource, discardBody } from '../transport/request-body.ts'
import { untilAbort } from './until-abort.ts'

/**
 * Calls the caller's body factory. Its error is permanent: a retry would throw it again. An abort does not wait for it, and a body that
 * comes too late is closed.
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
