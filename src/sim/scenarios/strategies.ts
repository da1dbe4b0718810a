/** The backoff strategies that the herd and the mail scenario compare. */
import type { LayerOptions } from '../scenario/layers.ts'

export const STRATEGIES: Readonly<Record<string, LayerOptions['retry']>> = {
	'constant delay': { growth: 'constant', jitterStrategy: 'none' },
	'exponential, no jitter': { jitterStrategy: 'none' },
	'equal jitter': { jitterStrategy: 'equal' },
	'full jitter': { jitterStrategy: 'full' },
	'decorrelated jitter': { jitterStrategy: 'decorrelated' },
}
