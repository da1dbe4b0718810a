import type { CallContext } from 'yaoki'
import type { VirtualRuntime } from 'yaoki/testing'

/** How one request ends: after so long, with a value or an error. */
interface Request {
	readonly ms: number
	readonly value?: unknown
	readonly error?: unknown
}

/** An operation whose requests settle as listed, in the order in which they are sent. */
export function requests(clock: VirtualRuntime, ...script: readonly Request[]) {
	const sentAt: number[] = []
	const contexts: CallContext[] = []
	const work = (context: CallContext) => {
		const { ms, value, error } = script[sentAt.length] ?? { ms: Infinity }
		sentAt.push(clock.now())
		contexts.push(context)
		// Reads the signal, because it is created on first use.
		context.signal.addEventListener('abort', () => {})
		return new Promise((resolve, reject) => {
			if (ms < Infinity) clock.setTimer(ms, () => (error === undefined ? resolve(value) : reject(error)))
		})
	}
	return Object.assign(work, { sentAt, contexts })
}
