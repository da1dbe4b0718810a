import type { Call } from '../engine/call.ts'
import { LeafPolicy } from '../engine/leaf-policy.ts'
import { describeError, type Wait } from '../explain/record.ts'
import { RetryLayer, type RetryObserver, type RetryVisit } from './layer.ts'
import { type RetryOptions, readRetryOptions } from './options.ts'

/**
 * Makes a failed call again, after a wait that grows and is spread by chance.
 *
 * @example
 * const policy = new Retry({ maxRetries: 3 })
 * const user = await policy.execute(({ signal }) => loadUser(id, signal))
 */
export class Retry extends LeafPolicy implements RetryObserver {
	readonly #layer: RetryLayer

	constructor(options: RetryOptions = {}) {
		const settings = readRetryOptions(options)
		const layer = new RetryLayer(settings)
		super('retry', settings, layer)
		this.#layer = layer
	}

	/** @internal */
	protected override heard(isHeard: boolean): void {
		this.#layer.observer = isHeard ? this : undefined
	}

	/** @internal */
	retrying(call: Call, { seat, attempt }: RetryVisit, { delayMs, source }: Wait): void {
		const { maxRetries } = this.#layer.settings
		this.emit(call, seat, {
			type: 'retry_attempt',
			attempt,
			maxRetries: maxRetries === Infinity ? null : maxRetries,
			delayMs,
			delaySource: source,
			kind: call.ok ? 'unwanted-result' : call.judge(seat).kind,
			...(call.ok ? {} : describeError(call.value)),
		})
	}

	/** @internal */
	ended(call: Call, { seat, attempt, startedAt }: RetryVisit): void {
		const attempts = attempt + 1
		const durationMs = seat.runtime.now() - startedAt
		if (call.ok && call.stop === undefined) {
			this.emit(call, seat, { type: 'retry_success', attempts, durationMs })
		} else {
			const stop = call.stop ?? 'not-retried'
			const texts = call.ok ? {} : describeError(call.value)
			this.emit(call, seat, { type: 'retry_failure', attempts, durationMs, stop, ...texts })
		}
	}
}

/**
 * A retry policy: `new Retry(options)`.
 *
 * @example
 * const payments = pipeline(retry(presets.externalApi))
 */
export function retry(options?: RetryOptions): Retry {
	return new Retry(options)
}
