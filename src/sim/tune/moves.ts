/**
 * The changes that `tune` tries, each with its size. Small changes are those that a reviewer would approve quickly: another jitter
 * strategy, fewer retries. Adding a budget is larger, adding a layer largest. Sizes define "the smallest change", so they are listed
 * here.
 */
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
	retry: ({ maxRetries = 3, baseDelayMs = 1_000, maxDelayMs = 30_000, jitterStrategy = 'full', budget }) => [
		...(['full', 'equal', 'decorrelated'] as const)
			.filter((strategy) => strategy !== jitterStrategy)
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

export function movesFor(layers: readonly PolicyLayer[]): readonly Move[] {
	return [...layers.flatMap((layer, index) => changesOf(layer, index)), ...additions(layers)]
}

function changesOf(layer: PolicyLayer, index: number): readonly Move[] {
	const given = layer as Partial<LayerOptions>
	if (given.timeout !== undefined) {
		const from = given.timeout
		return TIMEOUT_FACTORS.map((factor) =>
			changeLayer(`[${index}].timeout`, from, from * factor, Math.abs(Math.log2(factor)), index, {
				timeout: from * factor,
			}),
		)
	}
	const kind = Object.keys(CHANGES).find((known): known is LayerKind => Object.hasOwn(given, known))
	if (kind === undefined) return []
	const options = given[kind] as never
	return (CHANGES[kind]?.(options) ?? []).map(([option, to, size]) =>
		changeLayer(
			`[${index}].${kind}.${option}`,
			(options as Readonly<Record<string, unknown>>)[option],
			to,
			size,
			index,
			{
				[kind]: { ...(options as object), [option]: to },
			},
		),
	)
}

const changeLayer = (
	path: string,
	from: unknown,
	to: unknown,
	size: number,
	index: number,
	change: object,
): Move => ({
	path,
	from,
	to,
	size,
	apply: (layers) =>
		layers.map((layer, at) => (at === index ? ({ ...layer, ...change } as PolicyLayer) : layer)),
})

const indexOf = (kind: LayerKind, layers: readonly PolicyLayer[]): number =>
	layers.findIndex((layer) => Object.hasOwn(layer, kind))

/** Missing layers at their usual positions: a breaker inside the retry, a timeout innermost, a bulkhead outermost. */
function additions(layers: readonly PolicyLayer[]): readonly Move[] {
	const has = (kind: LayerKind) => indexOf(kind, layers) >= 0
	const found: Move[] = []
	if (!has('timeout')) found.push(addLayer({ timeout: 1_000 }, 'timeout', 2, (now) => now.length))
	if (!has('circuitBreaker'))
		found.push(addLayer({ circuitBreaker: BREAKER }, 'circuitBreaker', 4, (now) => indexOf('retry', now) + 1))
	if (!has('adaptiveThrottle')) found.push(addLayer({ adaptiveThrottle: {} }, 'adaptiveThrottle', 4, () => 0))
	if (!has('bulkhead') && !has('adaptiveBulkhead'))
		found.push(addLayer({ adaptiveBulkhead: {} }, 'adaptiveBulkhead', 5, () => 0))
	return found
}

/** `indexIn` is evaluated when the layer is added, because another layer may have been added before. */
const addLayer = (
	layer: PolicyLayer,
	kind: LayerKind,
	size: number,
	indexIn: (layers: readonly PolicyLayer[]) => number,
): Move => ({
	path: kind,
	from: undefined,
	to: (layer as Partial<LayerOptions>)[kind],
	size,
	apply: (layers) => layers.toSpliced(indexIn(layers), 0, layer),
})
