import type { JitterStrategy } from './settings.ts'

/** Settings with a name: what a preset says about waiting and giving up. */
export interface BackoffPreset {
	readonly baseDelayMs: number
	readonly maxDelayMs: number
	readonly maxRetries: number
	readonly jitterStrategy: JitterStrategy
	readonly jitterFactor?: number
}

/**
 * Sane settings for the usual places. Spread one to change a part: `retry({ ...presets.background, maxRetries: 3 })`.
 *
 * @example
 * const user = await retryWithBackoff(loadUser, presets.interactive)
 */
export const presets: Readonly<
	Record<'interactive' | 'background' | 'batch' | 'externalApi' | 'database' | 'messageQueue', BackoffPreset>
> = Object.freeze({
	/** Someone is waiting. */
	interactive: preset(100, 3_000, 3, 'proportional', 0.2),
	/** Jobs. */
	background: preset(1_000, 30_000, 5, 'proportional', 0.3),
	/** Nightly work. */
	batch: preset(5_000, 300_000, 10, 'proportional', 0.5),
	/** Third-party APIs. */
	externalApi: preset(1_000, 30_000, 3, 'full'),
	/** Connections and deadlocks. */
	database: preset(500, 10_000, 5, 'equal'),
	/** Publishers and outboxes. */
	messageQueue: preset(1_000, 60_000, 10, 'decorrelated'),
})

function preset(
	baseDelayMs: number,
	maxDelayMs: number,
	maxRetries: number,
	jitterStrategy: JitterStrategy,
	jitterFactor?: number,
): BackoffPreset {
	return Object.freeze({
		baseDelayMs,
		maxDelayMs,
		maxRetries,
		jitterStrategy,
		...(jitterFactor === undefined ? {} : { jitterFactor }),
	})
}
