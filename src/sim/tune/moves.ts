/**
 * The changes that `tune` tries, each with its size. Small changes are those that a reviewer would approve
 * quickly: another jitter strategy, fewer retries. Adding a budget is larger, adding a layer largest. Sizes
 * define "the smallest change", so they are listed here.
 */
import { selectJitter } from '../../core/backoff/options.ts'
import { InvalidArgumentError, InvalidOptionError } from '../../core/errors/errors.ts'
import { EventLoop } from '../kernel/event-loop.ts'
import { buildPolicy, type LayerKind, type LayerOptions, type PolicyLayer } from '../scenario/layers.ts'
import { applyChanges, layersOf, type Policies, type TuneChange } from './changes.ts'

export interface Move {
	readonly change: TuneChange
	readonly size: number
}

const BUDGET = { maxRetryRatio: 0.1, minRetriesPerSecond: 1 }

/** About the binary logarithm, which is not computed because its last digits, and so the order, depend on the engine. */
const FACTOR_SIZES = { 2: 1, 4: 2, 5: 2.3, 10: 3.3 } as const
type Factor = keyof typeof FACTOR_SIZES

/** An option of a layer, or a whole timeout, with its current value, also if it is a default, and the values to try. */
interface Setting {
	readonly option: string | undefined
	readonly from: unknown
	readonly alternatives: readonly (readonly [to: unknown, size: number])[]
}

const times = (option: string, from: number, ...factors: readonly Factor[]): Setting => ({
	option,
	from,
	alternatives: factors.map((factor) => [from * factor, FACTOR_SIZES[factor]]),
})

const SETTINGS: { readonly [Kind in LayerKind]?: (options: LayerOptions[Kind]) => readonly Setting[] } = {
	retry: ({ maxRetries = 3, baseDelayMs = 1_000, maxDelayMs = 30_000, budget, ...backoff }) => [
		{
			option: 'jitterStrategy',
			from: selectJitter(backoff),
			alternatives: ['full', 'equal', 'decorrelated'].map((strategy) => [strategy, 1]),
		},
		{
			option: 'maxRetries',
			from: maxRetries,
			alternatives: [2, 1, 0]
				.filter((retries) => retries < maxRetries)
				// Without a limit, every number takes away nearly all retries.
				.map((retries) => [retries, maxRetries === Infinity ? 2 : 1 + (maxRetries - retries) / maxRetries]),
		},
		times('baseDelayMs', baseDelayMs, 2, 5, 10),
		times('maxDelayMs', maxDelayMs, 2, 5),
		{
			option: 'budget',
			from: budget,
			alternatives: budget ? [] : [BUDGET, { ...BUDGET, maxRetryRatio: 0.2 }].map((to) => [to, 3]),
		},
	],
	circuitBreaker: ({ failureThreshold = 5, resetTimeoutMs = 30_000, errorRateThreshold }) => [
		{
			option: 'resetTimeoutMs',
			from: resetTimeoutMs,
			alternatives: ([2, 5] as const).map((factor) => [resetTimeoutMs / factor, FACTOR_SIZES[factor]]),
		},
		times('failureThreshold', failureThreshold, 2, 4),
		{
			option: 'errorRateThreshold',
			from: errorRateThreshold,
			alternatives: errorRateThreshold === undefined ? [[0.5, 2]] : [],
		},
	],
	bulkhead: ({ maxConcurrent = 10, maxQueue = 50 }) => [
		{
			option: 'maxConcurrent',
			from: maxConcurrent,
			alternatives: [
				[Math.max(1, Math.round(maxConcurrent / 2)), 1],
				[maxConcurrent * 2, 1],
				[maxConcurrent * 4, 2],
			],
		},
		{
			option: 'maxQueue',
			from: maxQueue,
			alternatives: [0, Math.round(maxQueue / 2)].map((to) => [to, 1]),
		},
	],
	timeoutMs: (ms) => [
		{
			option: undefined,
			from: ms,
			alternatives: [
				[ms / 2, 1],
				[ms * 2, 1],
				[ms * 5, FACTOR_SIZES[5]],
			],
		},
	],
}

interface Addition {
	readonly options: unknown
	readonly size: number
	indexIn(layers: readonly PolicyLayer[]): number
}

/**
 * Layers at their usual positions: a timeout innermost, a breaker inside the retry, the others outermost.
 * Inner layers come first, because of two layers that are added at the same place the last is the outermost.
 */
const ADDITIONS: Readonly<Partial<Record<LayerKind, Addition>>> = {
	timeoutMs: { options: 1_000, size: 2, indexIn: ({ length }) => length },
	circuitBreaker: {
		// A fixed open time would outlast short faults, and would fit only the scenario of the search.
		options: { resetBackoff: {} },
		size: 4,
		indexIn: (layers) => layers.findIndex((layer) => 'retry' in layer) + 1,
	},
	adaptiveThrottle: { options: {}, size: 4, indexIn: () => 0 },
	adaptiveBulkhead: { options: {}, size: 5, indexIn: () => 0 },
}

/** Returns the changes to try in one policy: to the options of each layer, and layers to add. */
export function movesFor(policy: string, layers: readonly PolicyLayer[]): readonly Move[] {
	const has = (kind: string) => layers.some((layer) => Object.hasOwn(layer, kind))
	const missing = Object.entries(ADDITIONS).filter(
		([kind]) => !has(kind) && !(kind === 'adaptiveBulkhead' && has('bulkhead')),
	)
	return [
		...layers.flatMap((layer, index) => settingMoves(policy, layer as Partial<LayerOptions>, index)),
		...missing.map(([name, { options, size, indexIn }]) => {
			const kind = name as LayerKind
			const place = { path: `${policy}.${kind}`, policy, layer: indexIn(layers), kind, isAdded: true }
			return { change: { ...place, from: undefined, to: options }, size }
		}),
	]
}

function settingMoves(policy: string, layer: Partial<LayerOptions>, index: number): readonly Move[] {
	const kind = Object.keys(SETTINGS).find((known): known is LayerKind => Object.hasOwn(layer, known))
	const settings = kind === undefined ? [] : (SETTINGS[kind]?.(layer[kind] as never) ?? [])
	return settings.flatMap(({ option, from, alternatives }) => {
		const path = [`${policy}[${index}]`, kind, ...(option === undefined ? [] : [option])].join('.')
		const place = { path, policy, layer: index, kind: kind as LayerKind, ...(option && { option }) }
		return distinct(from, alternatives).map(([to, size]) => ({ change: { ...place, from, to }, size }))
	})
}

/** Half of 1 is 1 again where only integers are valid, and twice 0 is 0: that is no change. */
const distinct = (from: unknown, alternatives: Setting['alternatives']): Setting['alternatives'] =>
	alternatives.filter(
		([to], index) =>
			to !== from &&
			(typeof to !== 'number' || Number.isFinite(to)) &&
			alternatives.findIndex(([other]) => other === to) === index,
	)

export interface Candidate {
	readonly changes: readonly TuneChange[]
	readonly size: number
}

/** Returns single changes and, with `maxChanges` 2, pairs, the smallest first. No pair changes one setting twice. */
export function listCandidates(
	names: readonly string[],
	policies: Policies,
	maxChanges: number,
): readonly Candidate[] {
	const moves = names.flatMap((name) => movesFor(name, layersOf(name, policies)))
	const single = moves.map(({ change, size }) => ({ changes: [change], size }))
	const pairs = moves.flatMap((first, index) =>
		moves
			.slice(index + 1)
			.filter(({ change }) => change.path !== first.change.path)
			.map((second) => ({ changes: [first.change, second.change], size: first.size + second.size })),
	)
	return [...single, ...(maxChanges > 1 ? pairs : [])].sort(
		(a, b) => a.size - b.size || a.changes.length - b.changes.length,
	)
}

export function isValid({ changes }: Candidate, policies: Policies): boolean {
	const changed = applyChanges(policies, changes)
	const loop = new EventLoop(1, 1)
	try {
		for (const name of new Set(changes.map(({ policy }) => policy)))
			buildPolicy(layersOf(name, changed), { loop, runtime: loop.runtime('check'), path: name })
		return true
	} catch (error) {
		if (error instanceof InvalidOptionError || error instanceof InvalidArgumentError) return false
		throw error
	}
}
