/** The policies of mollitia as functions around an operation, with the options that the other contenders have. */
import {
	Bulkhead,
	Circuit,
	type Module,
	Retry,
	RetryMode,
	SlidingCountBreaker,
	SlidingTimeBreaker,
	Timeout,
} from 'mollitia'

const HALF_AN_HOUR = 1_800_000

/** A breaker with an error rate of a half over a minute. It searches all calls of that minute at each call. */
export const mollitiaBreaker = (): Module =>
	new SlidingTimeBreaker({
		slidingWindowSize: 60_000,
		minimumNumberOfCalls: 10,
		failureRateThreshold: 50,
		openStateDelay: HALF_AN_HOUR,
	})

export const mollitiaBulkhead = (concurrentSize: number, queueSize: number): Module =>
	new Bulkhead({ concurrentSize, queueSize, maxQueueWait: 30_000 })

export const mollitiaRetry = (): Module =>
	new Retry({ attempts: 3, mode: RetryMode.EXPONENTIAL, interval: 1_000 })

/** Creates a circuit. All circuits are in a list of the package until they are disposed. */
export const mollitiaCircuit = (...modules: Module[]): Circuit => new Circuit({ options: { modules } })

/** With a breaker over the last 10 calls, because mollitia has none for consecutive failures. */
export const mollitiaFour = (): Circuit =>
	mollitiaCircuit(
		mollitiaBulkhead(10, 50),
		new SlidingCountBreaker({
			slidingWindowSize: 10,
			minimumNumberOfCalls: 10,
			openStateDelay: HALF_AN_HOUR,
		}),
		mollitiaRetry(),
		new Timeout({ delay: 5_000 }),
	)

/** Returns a function that runs an operation under these policies. */
export function underMollitia(...modules: Module[]): <T>(fn: () => Promise<T>) => Promise<T> {
	const circuit = mollitiaCircuit(...modules)
	return (fn) => circuit.fn(fn).execute()
}
