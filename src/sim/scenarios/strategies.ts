/** The five ways to wait that the herd and the mail clients are tried with: without growth, without chance, and by chance. */
import type { LayerOptions } from '../scenario/layers.ts'

export const STRATEGIES: Readonly<Record<string, LayerOptions['retry']>> = {
	'the same wait': { growth: 'constant', jitterStrategy: 'none' },
	'exponential, no jitter': { jitterStrategy: 'none' },
	'equal jitter': { jitterStrategy: 'equal' },
	'full jitter': { jitterStrategy: 'full' },
	'decorrelated jitter': { jitterStrategy: 'decorrelated' },
}
