import type { Call, Seat } from '../engine/call.ts'
import { LeafPolicy } from '../engine/leaf-policy.ts'
import type { Changes } from '../engine/policy-options.ts'
import { describeError, type Wait } from '../explain/record.ts'
import { changed } from '../options/rules.ts'
import { RetryLayer, type RetryVisit } from './layer.ts'
import { type RetryOptions, readRetryOptions } from './options.ts'

/**
 * Makes a failed call again, after a wait that grows and is spread by chance.
 *
 * @example
 * const policy = new Retry({ maxRetries: 3 })
 * const user = await policy.execute(({ signal }) => loadUser(id, signal))
 */
export class Retry extends LeafPolicy {
	readonly #layer: RetryLayer
	#options: RetryOptions

	constructor(options: RetryOptions = {}) {
		const layer = new RetryLayer(readRetryOptions(options))
		super('retry', options, layer)
		this.#layer = layer
		this.#options = options
	}

	/** Other settings for the decisions to come, also about calls that are under way. */
	update(options: Changes<RetryOptions>): void {
		const next = changed(this.#options, options)
		this.#layer.settings = readRetryOptions(next)
		this.#options = next
	}

	/** @internal */
	protected override heard(isHeard: boolean): void {
		this.#layer.observer = isHeard ? (...facts) => this.#tell(...facts) : undefined
	}

	#tell(call: Call, seat: Seat, { attempt, startedAt }: RetryVisit, wait?: Wait): void {
		const { ok, stop = 'not-retried', value } = call
		const { maxRetries } = this.#layer.settings
		const texts = ok ? {} : describeError(value)
		if (wait) {
			this.emit(call, seat, {
				type: 'retry_attempt',
				attempt,
				maxRetries: maxRetries === Infinity ? null : maxRetries,
				delayMs: wait.delayMs,
				delaySource: wait.source,
				outcome: call.latest?.outcome ?? 'transient',
				...texts,
			})
			return
		}
		const now = seat.runtime.now()
		// The start of a call was not taken down for who began to listen in the middle of it.
		const end = { attempts: attempt + 1, durationMs: now - (startedAt ?? now) }
		if (ok && call.stop === undefined) this.emit(call, seat, { type: 'retry_success', ...end })
		else this.emit(call, seat, { type: 'retry_failure', ...end, stop, ...texts })
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
