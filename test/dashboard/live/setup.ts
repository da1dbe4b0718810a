import type { VirtualRuntime } from 'yaoki/testing'

export const fail =
	(message = 'HTTP 503') =>
	(): never => {
		throw new Error(message)
	}

/** Runs a call until its end, and returns its error. */
export async function errorOf(clock: VirtualRuntime, call: Promise<unknown>): Promise<unknown> {
	const settled = call.then(
		() => undefined,
		(error: unknown) => error,
	)
	await clock.runUntilIdle()
	return settled
}
