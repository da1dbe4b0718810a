/** What a failure says about its message and about its destination. The rules of users may throw: then it is as though there were none. */
import type { Classification } from '../../core/classify/classification.ts'
import type { DestinationSettings } from './settings.ts'

/** What an error means, by the destination's own rules and then the toolkit's. */
export function classifyFailure(settings: DestinationSettings, error: unknown): Classification {
	try {
		return settings.classify(error)
	} catch {
		// The user's own classifier threw: nothing is known, and the message is not given up for that.
		return { kind: 'transient', isKnown: false }
	}
}

/** Is the destination to blame, and not the message? */
export function countsAsFailure(
	settings: DestinationSettings,
	error: unknown,
	{ kind }: Classification,
): boolean {
	const isFailure = settings.breaker?.isFailure
	try {
		if (isFailure) return isFailure(error)
	} catch {
		// As though there were no rule.
	}
	return kind === 'throttled' || kind === 'transient'
}
