import type { JitterStrategy } from './formula.ts'

/** The backoff options of one of the `presets`. Pass it to `retry` or `retryWithBackoff`. */
export interface BackoffPreset {
	readonly baseDelayMs: number
	readonly maxDelayMs: number
	readonly maxRetries: number
	readonly jitterStrategy: JitterStrategy
	readonly jitterFactor?: number
}

/**
 * Backoff options for common cases. To change some of them, spread the preset:
 * `retry({ ...presets.background, maxRetries: 3 })`.
 *
 * @example
 * const user = await retryWithBackoff(() => loadUser(id), presets.interactive)
 */
export const presets: Readonly<
	Record<'interactive' | 'background' | 'batch' | 'externalApi' | 'database' | 'messageQueue', BackoffPreset>
> = /* @__PURE__ */ createPresets()

/** One call, which bundlers omit in programs without presets. */
function createPresets(): typeof presets {
	return Object.freeze({
		/** A user is waiting. */
		interactive: preset(100, 3_000, 3, 'proportional', 0.2),
		/** Background jobs. */
		background: preset(1_000, 30_000, 5, 'proportional', 0.3),
		/** Nightly batches. */
		batch: preset(5_000, 300_000, 10, 'proportional', 0.5),
		/** Third-party APIs. */
		externalApi: preset(1_000, 30_000, 3, 'full'),
		/** Database connections and deadlocks. */
		database: preset(500, 10_000, 5, 'equal'),
		/** Publishers and outboxes. */
		messageQueue: preset(1_000, 60_000, 10, 'decorrelated'),
	})
}

function preset(
	baseDelayMs: number,
	maxDelayMs: number,
	maxRetries: number,
	jitterStrategy: JitterStrategy,
	jitterFactor?: number,
): BackoffPreset {
	const factor = jitterFactor === undefined ? {} : { jitterFactor }
	return Object.freeze({ baseDelayMs, maxDelayMs, maxRetries, jitterStrategy, ...factor })
}
