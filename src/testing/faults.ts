import type { BoundLayer, Call, Layer } from '../core/engine/call.ts'
import type { Step } from '../core/engine/layer.ts'
import { LeafPolicy, type Policy } from '../core/engine/policy.ts'
import { POLICY_SCHEMA, type PolicyOptions, readPolicyOptions } from '../core/engine/policy-options.ts'
import { invalidOption, isAmount, type OptionSchema } from '../core/options/schema.ts'
import { seededRandom } from './seeded-random.ts'

/** Options of `faults`. */
export interface FaultsOptions extends PolicyOptions {
	/** The share of attempts that fail before the operation is called, 0 to 1. Default 0. */
	readonly errorRate?: number | undefined
	/** The error, or a function that creates it. Default: an Error with code ECONNRESET. */
	readonly error?: unknown
	/** The delay before every attempt: milliseconds, or a range for a random delay. Default 0. */
	readonly latencyMs?: number | readonly [min: number, max: number] | undefined
	/** The same seed gives the same faults in every run. Default: the random numbers of the runtime. */
	readonly seed?: number | string | undefined
}

type Settings = FaultsOptions & { readonly errorRate: number }

const FAULTS_SCHEMA: OptionSchema = {
	errorRate: [0, 1, 0],
	error: 'any',
	latencyMs: 'any',
	seed: 'any',
	...POLICY_SCHEMA,
}

function readFaultOptions(options: FaultsOptions): Settings {
	const settings = readPolicyOptions<Settings>(options, 'faults', FAULTS_SCHEMA)
	const { latencyMs = 0 } = settings
	const [min, max] = toRange(latencyMs)
	if (!isAmount(min) || !isAmount(max) || min > max)
		invalidOption('latencyMs', latencyMs, 'milliseconds, or [min, max]')
	return settings
}

const toRange = (latencyMs: number | readonly [number, number]): readonly [number, number] =>
	typeof latencyMs === 'number' ? [latencyMs, latencyMs] : latencyMs

/**
 * Creates a policy that injects latency and errors. Put it innermost, in the place of the network.
 *
 * @example
 * const flaky = pipeline(retry(), faults({ errorRate: 0.3, latencyMs: [10, 200], seed: 7 }))
 */
export function faults(options: FaultsOptions = {}): Policy {
	return new Faults(options)
}

class Faults extends LeafPolicy {
	constructor(options: FaultsOptions) {
		super('faults', options, new FaultLayer(readFaultOptions(options)))
	}

	/** @internal It emits no events of its own; the policies around it do. */
	protected override setListening(): void {}
}

class FaultLayer implements Layer {
	/** True if the attempt fails. */
	declare readonly callState: boolean
	readonly #settings: Settings
	readonly #random: (() => number) | undefined

	constructor(settings: Settings) {
		this.#settings = settings
		this.#random = settings.seed === undefined ? undefined : seededRandom(settings.seed)
	}

	enter(call: Call, bound: BoundLayer<FaultLayer>): Step {
		const random = this.#random ?? (() => bound.runtime.random())
		const { latencyMs = 0, errorRate } = this.#settings
		const [min, max] = toRange(latencyMs)
		const delayMs = min + random() * (max - min)
		const fails = random() < errorRate
		call.enterLayer(bound, fails)
		return delayMs > 0 ? call.wait(delayMs) : this.resume(call, bound)
	}

	resume(call: Call, bound: BoundLayer<FaultLayer>): Step {
		call.startedAt = call.pipeline.runtime.now()
		return call.layerState(bound) ? call.settle(false, this.#createError()) : 'continue'
	}

	leave(): Step {
		return 'continue'
	}

	#createError(): unknown {
		const { error = resetConnection } = this.#settings
		return typeof error === 'function' ? (error as () => unknown)() : error
	}
}

const resetConnection = (): Error =>
	Object.assign(new Error('injected fault: read ECONNRESET'), { code: 'ECONNRESET' })
