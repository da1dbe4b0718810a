/**
 * Policies as data, so that a scenario fits into a file, a search can change one setting, and a page can print the
 * TypeScript for what its sliders say. Each layer is one key, named like its factory, with that factory's own options; they are made
 * into the very policies that production runs.
 */
import type { Budget } from '../../core/budget/budget.ts'
import { adaptiveBulkhead } from '../../core/bulkhead/adaptive-bulkhead.ts'
import type { AdaptiveBulkheadOptions } from '../../core/bulkhead/adaptive-options.ts'
import { bulkhead } from '../../core/bulkhead/bulkhead.ts'
import type { BulkheadOptions } from '../../core/bulkhead/options.ts'
import { circuitBreaker } from '../../core/circuit-breaker/circuit-breaker.ts'
import type { CircuitBreakerOptions } from '../../core/circuit-breaker/options.ts'
import { pipeline } from '../../core/engine/pipeline.ts'
import type { Policy } from '../../core/engine/policy.ts'
import { hedge } from '../../core/hedge/hedge.ts'
import type { HedgeOptions } from '../../core/hedge/options.ts'
import { invalidOption } from '../../core/options/schema.ts'
import type { RateLimiterOptions } from '../../core/rate-limiter/options.ts'
import { rateLimiter } from '../../core/rate-limiter/rate-limiter.ts'
import type { RetryOptions } from '../../core/retry/options.ts'
import { retry } from '../../core/retry/retry.ts'
import type { Runtime } from '../../core/runtime/runtime.ts'
import { adaptiveThrottle } from '../../core/throttle/adaptive-throttle.ts'
import type { AdaptiveThrottleOptions } from '../../core/throttle/options.ts'
import { timeout } from '../../core/timeout/timeout.ts'
import { type BudgetModel, newBudget } from './budgets.ts'
import { located } from './located.ts'

type WithBudget<Options> = Omit<Options, 'budget' | 'runtime'> & { readonly budget?: BudgetModel | undefined }
type Plain<Options> = Omit<Options, 'runtime'>

/** What each layer takes, by the name of its factory. */
export interface LayerOptions {
	readonly retry: WithBudget<RetryOptions>
	/** Milliseconds. */
	readonly timeout: number
	readonly circuitBreaker: Plain<CircuitBreakerOptions>
	readonly bulkhead: Plain<BulkheadOptions>
	readonly adaptiveBulkhead: Plain<AdaptiveBulkheadOptions>
	readonly hedge: WithBudget<HedgeOptions>
	readonly rateLimiter: Plain<RateLimiterOptions>
	readonly adaptiveThrottle: Plain<AdaptiveThrottleOptions>
}

/** The name of a layer's factory. */
export type LayerKind = keyof LayerOptions

/** `shared`: one for all who use the policy, where each instance of a client would otherwise have its own. */
type Layer<Kind extends LayerKind> = { readonly [Name in Kind]: LayerOptions[Name] } & {
	readonly shared?: boolean | undefined
}

/**
 * One policy as data: the name of its factory, and that factory's options.
 *
 * @example
 * const careful: PolicyLayer[] = [{ circuitBreaker: { failureThreshold: 5 } }, { retry: { maxRetries: 3 } }, { timeout: 1_000 }]
 */
export type PolicyLayer = { [Kind in LayerKind]: Layer<Kind> }[LayerKind]

/** Where a layer is made: in which run, and for whom. */
export interface LayerWorld {
	readonly runtime: Runtime
	once<T>(name: string, make: () => T): T
	/** What time and chance are for what is shared and stands at this place. */
	sharedRuntime(place: string): Runtime
}

type Makers = { readonly [Kind in LayerKind]: (options: LayerOptions[Kind], around: Place) => Policy }

/** Where a layer stands: its own world, and its path in the scenario. */
interface Place extends LayerWorld {
	readonly path: string
}

const MAKERS: Makers = {
	retry: ({ budget, ...options }, around) => retry({ ...options, ...budgetOf(budget, around) }),
	timeout: (ms) => timeout(ms),
	circuitBreaker: (options) => circuitBreaker(options),
	bulkhead: (options) => bulkhead(options),
	adaptiveBulkhead: (options) => adaptiveBulkhead(options),
	hedge: ({ budget, ...options }, around) => hedge({ ...options, ...budgetOf(budget, around) }),
	rateLimiter: (options) => rateLimiter(options),
	adaptiveThrottle: (options) => adaptiveThrottle(options),
}

/** The names of the factories, for messages and for who wants to list them. */
export const LAYER_KINDS: readonly LayerKind[] = Object.keys(MAKERS) as LayerKind[]

/** Makes the policies and puts them around each other. `path` is where they stand in the scenario. */
export function buildPolicy(layers: readonly PolicyLayer[], path: string, world: LayerWorld): Policy {
	const policies = layers.map((layer, index) => made(layer, `${path}[${index}]`, world))
	return pipeline({ runtime: world.runtime }, ...policies)
}

function made(layer: PolicyLayer, path: string, world: LayerWorld): Policy {
	const kind = kindOf(layer, path)
	const place = { ...world, path: `${path}.${kind}` }
	if (isStateless(layer)) return world.once(path, () => make(kind, layer, place))
	if (!layer.shared) return make(kind, layer, place)
	return world.once(path, () => {
		const runtime = world.sharedRuntime(path)
		return pipeline({ runtime }, make(kind, layer, { ...world, runtime, path: `${path}.${kind}` }))
	})
}

/** One that keeps everything in the call can stand in all pipelines: a thousand of them would be a fifth of a short run. */
const isStateless = (layer: PolicyLayer): boolean =>
	'timeout' in layer || ('retry' in layer && layer.retry.budget === undefined)

function make<Kind extends LayerKind>(kind: Kind, layer: PolicyLayer, place: Place): Policy {
	const options: LayerOptions[Kind] | undefined = (layer as Partial<LayerOptions>)[kind]
	if (options === undefined) invalidOption(place.path, options, 'its options')
	return located(place.path, () => MAKERS[kind](options, place))
}

function kindOf(layer: PolicyLayer, path: string): LayerKind {
	const takes = `one of ${LAYER_KINDS.join(', ')} with its options, and perhaps shared: true`
	if (Object(layer) !== layer) invalidOption(path, layer, takes)
	const names = Object.keys(layer).filter((name) => name !== 'shared')
	const kind = LAYER_KINDS.find((known) => known === names[0])
	if (kind === undefined || names.length > 1) invalidOption(path, names.join(' and ') || 'nothing', takes)
	if (layer.shared !== undefined && typeof layer.shared !== 'boolean')
		invalidOption(`${path}.shared`, layer.shared, 'true or false')
	const options: unknown = (layer as Readonly<Record<string, unknown>>)[kind]
	if (kind !== 'timeout') checkOptions(options, `${path}.${kind}`)
	return kind
}

function checkOptions(options: unknown, path: string): void {
	if (Object(options) !== options || Array.isArray(options))
		invalidOption(path, options, 'its options as an object, {} for the defaults')
	const { runtime } = options as { runtime?: unknown }
	if (runtime !== undefined)
		invalidOption(`${path}.runtime`, runtime, 'nothing here: time is that of the run')
}

function budgetOf(model: BudgetModel | undefined, place: Place): { budget?: Budget } {
	if (model === undefined) return {}
	const path = `${place.path}.budget`
	if (!model?.shared) return { budget: newBudget(model, path, place.runtime) }
	return { budget: place.once(path, () => newBudget(model, path, place.sharedRuntime(path))) }
}
