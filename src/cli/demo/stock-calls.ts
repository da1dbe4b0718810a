/**
 * The demo's own process asks the receiver for its stock, through a policy. The receiver fails for it as for the orders of
 * the relays, so the dashboard has circuits, retries and failed calls of a process too.
 */
import { bulkhead } from '../../core/bulkhead/bulkhead.ts'
import { circuitBreaker } from '../../core/circuit-breaker/circuit-breaker.ts'
import { pipeline } from '../../core/engine/pipeline.ts'
import type { Policy } from '../../core/engine/policy.ts'
import { HttpError } from '../../core/errors/errors.ts'
import { retry } from '../../core/retry/retry.ts'
import type { Runtime } from '../../core/runtime/runtime.ts'
import { sleep } from '../../core/runtime/sleep.ts'
import { timeout } from '../../core/timeout/timeout.ts'
import type { DemoSchedule } from './schedule.ts'

const CALL_EVERY_MS = 50

export class StockCalls {
	readonly policy: Policy
	readonly #runtime: Runtime

	constructor({ timeoutMs, breakerMs }: Pick<DemoSchedule, 'timeoutMs' | 'breakerMs'>, runtime: Runtime) {
		this.#runtime = runtime
		this.policy = pipeline(
			{ name: 'stock', runtime },
			bulkhead({ maxConcurrent: 20, maxQueue: 20 }),
			circuitBreaker({ failureThreshold: 5, resetTimeoutMs: 1000, resetBackoff: { initialMs: breakerMs } }),
			retry({ maxRetries: 2, baseDelayMs: 100, maxDelayMs: 500 }),
			timeout(timeoutMs),
		)
	}

	/** Calls until the signal is aborted. Resolves when all calls have ended. */
	async run(url: string, signal: AbortSignal): Promise<void> {
		const running = new Set<Promise<unknown>>()
		while (!signal.aborted) {
			// The dashboard shows what fails. Nothing depends on the result.
			const call: Promise<unknown> = this.policy
				.settle((context) => readStock(url, context.signal), { signal })
				.finally(() => running.delete(call))
			running.add(call)
			await sleep(this.#runtime, CALL_EVERY_MS, signal)
		}
		await Promise.all(running)
	}
}

async function readStock(url: string, signal: AbortSignal): Promise<string> {
	const response = await fetch(url, { signal })
	const text = await response.text()
	if (!response.ok) throw new HttpError(response.status)
	return text
}
