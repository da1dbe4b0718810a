/**
 * Builds the policies of a run. Policies are given as data, so that a scenario fits into a file, `tune` can
 * change one setting, and the playground can print TypeScript for its sliders. Each layer has one key, the
 * name of its factory, with the options of that factory; a timeout is `timeoutMs`. The result are the same
 * policies that run in production.
 */
import type { Budget } from '../../core/budget/budget.ts'
import { RetryBudget, type RetryBudgetOptions } from '../../core/budget/retry-budget.ts'
import { TokenBudget, type TokenBudgetOptions } from '../../core/budget/token-budget.ts'
import { adaptiveBulkhead } from '../../core/bulkhead/adaptive-bulkhead.ts'
import { bulkhead } from '../../core/bulkhead/bulkhead.ts'
import type { AdaptiveBulkheadOptions, BulkheadOptions } from '../../core/bulkhead/options.ts'
import { circuitBreaker } from '../../core/circuit-breaker/circuit-breaker.ts'
import type { CircuitBreakerOptions } from '../../core/circuit-breaker/options.ts'
import { pipeline } from '../../core/engine/pipeline.ts'
import { isPolicy, type Policy } from '../../core/engine/policy.ts'
import { hedge } from '../../core/hedge/hedge.ts'
import type { HedgeOptions } from '../../core/hedge/options.ts'
import { withOptionPath } from '../../core/options/option-path.ts'
import { checkRange, invalidOption, isObject } from '../../core/options/schema.ts'
import type { RateLimiterOptions } from '../../core/rate-limiter/options.ts'
import { rateLimiter } from '../../core/rate-limiter/rate-limiter.ts'
import type { RetryOptions } from '../../core/retry/options.ts'
import { retry } from '../../core/retry/retry.ts'
import type { Runtime } from '../../core/runtime/runtime.ts'
import { adaptiveThrottle } from '../../core/throttle/adaptive-throttle.ts'
import type { AdaptiveThrottleOptions } from '../../core/throttle/options.ts'
import { timeout } from '../../core/timeout/timeout.ts'
import type { EventLoop } from '../kernel/event-loop.ts'
import { QuotaBudget, type QuotaBudgetOptions } from './quota-budget.ts'
import { flag, oneOf } from './shape.ts'

/**
 * A retry budget written as data, as `budget` of a `retry` or `hedge` layer in a `Scenario`. With `shared`,
 * all instances of a client use one budget; by default each has its own.
 */
export type BudgetModel = { readonly shared?: boolean | undefined } & (
	| ({ readonly kind?: 'ratio' | undefined } & Omit<RetryBudgetOptions, 'runtime'>)
	| ({ readonly kind: 'tokens' } & Omit<TokenBudgetOptions, 'runtime'>)
	| ({ readonly kind: 'quota' } & Omit<QuotaBudgetOptions, 'runtime'>)
)

/** The factory of each kind that `yaoki` exports, for printing a policy as TypeScript. */
export const BUDGET_FACTORIES = { ratio: 'retryBudget', tokens: 'tokenBudget' } as const

type WithBudget<Options> = Omit<Options, 'budget' | 'runtime'> & { readonly budget?: BudgetModel | undefined }
type Plain<Options> = Omit<Options, 'runtime'>

/** The options of each layer, by the name of its factory; a timeout has none, and is named after its unit. */
export interface LayerOptions {
	readonly retry: WithBudget<RetryOptions>
	readonly timeoutMs: number
	readonly circuitBreaker: Plain<CircuitBreakerOptions>
	readonly bulkhead: Plain<BulkheadOptions>
	readonly adaptiveBulkhead: Plain<AdaptiveBulkheadOptions>
	readonly hedge: WithBudget<HedgeOptions>
	readonly rateLimiter: Plain<RateLimiterOptions>
	readonly adaptiveThrottle: Plain<AdaptiveThrottleOptions>
}

export type LayerKind = keyof LayerOptions

/** `shared`: all instances of a client use one policy. By default each instance has its own. */
type Layer<Kind extends LayerKind> = { readonly [Name in Kind]: LayerOptions[Name] } & {
	readonly shared?: boolean | undefined
}

/**
 * One policy as data: the name of its factory with the options of that factory, or `timeoutMs`. A list of
 * them is a value in `policies` of a `Scenario`.
 *
 * @example
 * const careful: PolicyLayer[] = [{ circuitBreaker: { failureThreshold: 5 } }, { retry: { maxRetries: 3 } }, { timeoutMs: 1_000 }]
 */
export type PolicyLayer = { [Kind in LayerKind]: Layer<Kind> }[LayerKind]

/**
 * Layers as data, or a function that creates a new policy for each run and for each instance of a client. Use
 * it as a value in `policies` of a `Scenario`.
 */
export type PolicyModel = readonly PolicyLayer[] | ((context: PolicyFactoryContext) => Policy<unknown>)

/** The argument of a function that creates a policy. */
export interface PolicyFactoryContext {
	/** Virtual time and seeded randomness. Policies without a runtime inherit it; pass it to budgets. */
	readonly runtime: Runtime
	/**
	 * Creates a value once per run and returns the same one to all instances: a budget or a breaker that many
	 * clients share.
	 *
	 * @example
	 * const shared: PolicyModel = ({ once, runtime }) => retry({ budget: once('budget', () => retryBudget({ runtime })) })
	 */
	once<T>(name: string, make: () => T): T
}

/** What a layer is created with. `path` is its path in the scenario. */
interface LayerContext {
	readonly loop: EventLoop
	readonly runtime: Runtime
	readonly path: string
}

type Factories = {
	readonly [Kind in LayerKind]: (options: LayerOptions[Kind], context: LayerContext) => Policy
}

const FACTORIES: Factories = {
	retry: ({ budget, ...options }, context) => retry({ ...options, ...budgetOption(budget, context) }),
	timeoutMs(ms) {
		checkRange('timeoutMs', ms)
		return timeout(ms)
	},
	circuitBreaker: (options) => circuitBreaker(options),
	bulkhead: (options) => bulkhead(options),
	adaptiveBulkhead: (options) => adaptiveBulkhead(options),
	hedge: ({ budget, ...options }, context) => hedge({ ...options, ...budgetOption(budget, context) }),
	rateLimiter: (options) => rateLimiter(options),
	adaptiveThrottle: (options) => adaptiveThrottle(options),
}

export const LAYER_KINDS: readonly LayerKind[] = Object.keys(FACTORIES) as LayerKind[]

/** Creates the policy of this name; `owner` names its random stream. Returns undefined without a name. */
export type PolicyFactory = (name: string | undefined, owner: string) => Policy<unknown> | undefined

/** Returns a function that creates a run's policies: one per instance of a client, and one per hop between services. */
export function policyFactory(loop: EventLoop, models: Readonly<Record<string, PolicyModel>>): PolicyFactory {
	return (name, owner) => {
		const model = name === undefined ? undefined : models[name]
		if (!model) return undefined
		const path = `policies.${name}`
		const runtime = loop.runtime(`${owner} policy`)
		if (typeof model !== 'function') return buildPolicy(model, { loop, runtime, path })
		const policy: unknown = model({ runtime, once: (key, make) => loop.once(`${path}: ${key}`, make) })
		if (!isPolicy(policy)) invalidOption(`${path}()`, policy, 'a function that returns a policy')
		checkFresh(policy, loop, path)
		return pipeline({ runtime }, policy)
	}
}

export const buildPolicy = (layers: readonly PolicyLayer[], { loop, runtime, path }: LayerContext): Policy =>
	pipeline(
		{ runtime },
		...layers.map((layer, index) => createLayer(layer, { loop, runtime, path: `${path}[${index}]` })),
	)

/** The run that each policy was created in. */
const createdIn = new WeakMap<Policy<unknown>, EventLoop>()

/** A breaker with the state and the clock of an earlier run would make the same seed give a different result. */
function checkFresh(policy: Policy<unknown>, loop: EventLoop, path: string): void {
	for (const leaf of policy.leaves()) {
		if ((createdIn.get(leaf) ?? loop) !== loop)
			invalidOption(
				`${path}()`,
				leaf.name,
				'a function that returns a new policy on each call; this instance was already used in an earlier run',
			)
		createdIn.set(leaf, loop)
	}
}

function createLayer(layer: PolicyLayer, context: LayerContext): Policy {
	const { loop, path } = context
	const kind = checkLayer(layer, path)
	const layerPath = `${path}.${kind}`
	const create = (runtime: Runtime) =>
		// The only argument of a timeout has no name.
		withOptionPath(kind === 'timeoutMs' ? path : layerPath, () =>
			createKind(kind, layer, { loop, runtime, path: layerPath }),
		)
	if (isStateless(layer)) return loop.once(path, () => create(context.runtime))
	if (!layer.shared) return create(context.runtime)
	return loop.once(path, () => {
		const runtime = loop.runtime(`${path} shared`)
		return pipeline({ runtime }, create(runtime))
	})
}

/** A layer that keeps its state in the call is created once: a thousand copies took a fifth of the time of a short run. */
const isStateless = (layer: PolicyLayer): boolean =>
	'timeoutMs' in layer || ('retry' in layer && layer.retry.budget === undefined)

const createKind = <Kind extends LayerKind>(kind: Kind, layer: PolicyLayer, context: LayerContext): Policy =>
	FACTORIES[kind]((layer as LayerOptions)[kind], context)

function checkLayer(layer: PolicyLayer, path: string): LayerKind {
	const expected = `an object with one of ${LAYER_KINDS.join(', ')}, and optionally shared: true`
	if (Object(layer) !== layer) invalidOption(path, layer, expected)
	const names = Object.keys(layer).filter((name) => name !== 'shared')
	const kind = LAYER_KINDS.find((known) => known === names[0])
	if (kind === undefined || names.length > 1) invalidOption(path, names.join(' and ') || 'none', expected)
	if (layer.shared !== undefined && typeof layer.shared !== 'boolean')
		invalidOption(`${path}.shared`, layer.shared, 'true or false')
	const options: unknown = (layer as Readonly<Record<string, unknown>>)[kind]
	if (kind === 'timeoutMs') return kind
	if (!isObject(options))
		invalidOption(`${path}.${kind}`, options, 'an object with options, {} for the defaults')
	const { runtime } = options as { runtime?: unknown }
	if (runtime !== undefined)
		invalidOption(`${path}.${kind}.runtime`, runtime, 'no runtime: remove it, the simulation provides it')
	return kind
}

function budgetOption(model: BudgetModel | undefined, context: LayerContext): { budget?: Budget } {
	if (model === undefined) return {}
	const path = `${context.path}.budget`
	const { loop, runtime } = context
	if (!model?.shared) return { budget: createBudget(model, runtime) }
	return { budget: loop.once(path, () => createBudget(model, loop.runtime(`${path} shared`))) }
}

function createBudget(model: BudgetModel, runtime: Runtime): Budget {
	if (!isObject(model)) invalidOption('budget', model, 'budget options such as { maxRetryRatio: 0.1 }')
	const { shared = false, kind = 'ratio', ...options } = model
	flag(shared, 'budget.shared')
	oneOf(...Object.keys(BUDGET_FACTORIES), 'quota')(kind, 'budget.kind')
	return withOptionPath('budget', () => {
		if (kind === 'tokens') return new TokenBudget(options as TokenBudgetOptions)
		if (kind === 'quota') return new QuotaBudget(options as QuotaBudgetOptions)
		return new RetryBudget({ ...(options as RetryBudgetOptions), runtime })
	})
}
