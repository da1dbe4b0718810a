/**
 * The changes that `tune` tries, each with its size. Small changes are those that a reviewer would approve quickly: another jitter
 * strategy, fewer retries. Adding a budget is larger, adding a layer largest. Sizes define "the smallest change", so they are listed
 * here.
 */
import { selectJitter } from '../../core/backoff/options.ts'
import type { LayerKind, LayerOptions, PolicyLayer } from '../scenario/layers.ts'

/** One change to a policy. */
export interface Move {
	/** Path in the policy: `[0].retry.maxRetries`; the kind for a layer that is added. */
	readonly path: string
	readonly from: unknown
	readonly to: unknown
	readonly size: number
	apply(layers: readonly PolicyLayer[]): readonly PolicyLayer[]
}

const BUDGET = { maxRetryRatio: 0.1, minRetriesPerSecond: 1 }
const BREAKER = {
	errorRateThreshold: 0.5,
	minimumRequests: 20,
	monitorWindowMs: 5_000,
	resetTimeoutMs: 5_000,
}

type Change = readonly [option: string, to: unknown, size: number]

/** By layer: the changes to try, given its current options. */
const CHANGES: { readonly [Kind in LayerKind]?: (options: LayerOptions[Kind]) => readonly Change[] } = {
	retry: ({ maxRetries = 3, baseDelayMs = 1_000, maxDelayMs = 30_000, budget, ...backoff }) => [
		...(['full', 'equal', 'decorrelated'] as const)
			.filter((strategy) => strategy !== selectJitter(backoff))
			.map((strategy): Change => ['jitterStrategy', strategy, 1]),
		...[2, 1, 0]
			.filter((retries) => retries < maxRetries)
			.map((retries): Change => ['maxRetries', retries, 1 + (maxRetries - retries) / maxRetries]),
		...[2, 5, 10]
			.filter((factor) => baseDelayMs * factor <= maxDelayMs)
			.map((factor): Change => ['baseDelayMs', baseDelayMs * factor, Math.log2(factor)]),
		...[2, 5].map((factor): Change => ['maxDelayMs', maxDelayMs * factor, Math.log2(factor)]),
		...(budget
			? []
			: ([
					['budget', BUDGET, 3],
					['budget', { ...BUDGET, maxRetryRatio: 0.2 }, 3],
				] as const)),
	],
	circuitBreaker: ({ failureThreshold = 5, resetTimeoutMs = 30_000, errorRateThreshold }) => [
		...[2, 5].map((factor): Change => ['resetTimeoutMs', resetTimeoutMs / factor, Math.log2(factor)]),
		...[2, 4].map((factor): Change => ['failureThreshold', failureThreshold * factor, Math.log2(factor)]),
		...(errorRateThreshold === undefined ? ([['errorRateThreshold', 0.5, 2]] as const) : []),
	],
	bulkhead: ({ maxConcurrent = 10, maxQueue = 50 }) => [
		...[0.5, 2, 4].map(
			(factor): Change => [
				'maxConcurrent',
				Math.max(1, Math.round(maxConcurrent * factor)),
				Math.abs(Math.log2(factor)),
			],
		),
		...[0, 0.5].map((factor): Change => ['maxQueue', Math.round(maxQueue * factor), 1]),
	],
}

/** Factors on a timeout, whose only option is its length. */
const TIMEOUT_FACTORS = [0.5, 2, 5]

interface Addition {
	readonly layer: PolicyLayer
	readonly size: number
	/** Evaluated when the layer is added, because another layer may have been added before. */
	indexIn(layers: readonly PolicyLayer[]): number
}

/** Layers at their usual positions: a timeout innermost, a breaker inside the retry, the others outermost. */
const ADDITIONS: Readonly<Partial<Record<LayerKind, Addition>>> = {
	timeout: { layer: { timeout: 1_000 }, size: 2, indexIn: ({ length }) => length },
	circuitBreaker: {
		layer: { circuitBreaker: BREAKER },
		size: 4,
		indexIn: (layers) => layers.findIndex((layer) => 'retry' in layer) + 1,
	},
	adaptiveThrottle: { layer: { adaptiveThrottle: {} }, size: 4, indexIn: () => 0 },
	adaptiveBulkhead: { layer: { adaptiveBulkhead: {} }, size: 5, indexIn: () => 0 },
}

/** Returns the changes to try: to the options of each layer, and layers to add. */
export function movesFor(layers: readonly PolicyLayer[]): readonly Move[] {
	const has = (kind: string) => layers.some((layer) => Object.hasOwn(layer, kind))
	const missing = Object.entries(ADDITIONS).filter(
		([kind]) => !has(kind) && !(kind === 'adaptiveBulkhead' && has('bulkhead')),
	)
	return [
		...layers.flatMap((layer, index) => changesOf(layer as Partial<LayerOptions>, index)),
		...missing.map(([kind, { layer, size, indexIn }]) => ({
			path: kind,
			from: undefined,
			to: (layer as Readonly<Record<string, unknown>>)[kind],
			size,
			apply: (all: readonly PolicyLayer[]) => all.toSpliced(indexIn(all), 0, layer),
		})),
	]
}

function changesOf(layer: Partial<LayerOptions>, index: number): readonly Move[] {
	const move = (path: string, from: unknown, to: unknown, size: number, change: object): Move => ({
		path: `[${index}].${path}`,
		from,
		to,
		size,
		apply: (layers) => layers.with(index, { ...layers[index], ...change } as PolicyLayer),
	})
	const { timeout } = layer
	if (timeout !== undefined)
		return TIMEOUT_FACTORS.map((factor) =>
			move('timeout', timeout, timeout * factor, Math.abs(Math.log2(factor)), { timeout: timeout * factor }),
		)
	const kind = Object.keys(CHANGES).find((known): known is LayerKind => Object.hasOwn(layer, known))
	if (kind === undefined) return []
	const options = layer[kind] as never
	return (CHANGES[kind]?.(options) ?? []).map(([option, to, size]) =>
		move(`${kind}.${option}`, (options as Readonly<Record<string, unknown>>)[option], to, size, {
			[kind]: { ...(options as object), [option]: to },
		}),
	)
}
