import type { BoundLayer, Call, Layer } from '../core/engine/call.ts'
import { GO, type Step } from '../core/engine/layer.ts'
import { LeafPolicy } from '../core/engine/policy.ts'
import { checkPolicyOptions, POLICY_SCHEMA, type PolicyOptions } from '../core/engine/policy-options.ts'
import { invalidOption, isAmount, type OptionSchema, readOptions } from '../core/options/schema.ts'
import { seededRandom } from './seeded-random.ts'

/** How often, how and how slowly calls are to fail. */
export interface FaultOptions extends PolicyOptions {
	/** The share of calls that fail before they reach the work, 0 to 1. Default 0. */
	readonly errorRate?: number | undefined
	/** What they fail with: an error, or a function that makes one. Default: an Error whose code is ECONNRESET. */
	readonly error?: unknown
	/** How long every call is held up first: milliseconds, or a range to draw from. Default 0. */
	readonly latencyMs?: number | readonly [least: number, greatest: number] | undefined
	/** Makes the faults the same in every run. Default: the runtime's chance. */
	readonly seed?: number | string | undefined
}

type Settings = Omit<FaultOptions, 'errorRate'> & { readonly errorRate: number }

const RULES: OptionSchema = {
	errorRate: [0, 1, 0],
	error: 'any',
	latencyMs: 'any',
	seed: 'any',
	...POLICY_SCHEMA,
}

function readFaultOptions(options: FaultOptions): Settings {
	checkPolicyOptions(options, RULES)
	const { latencyMs = 0 } = options
	const [least, greatest] = bounds(latencyMs)
	if (!isAmount(least) || !isAmount(greatest) || least > greatest) {
		invalidOption('latencyMs', latencyMs, 'milliseconds, or [least, greatest]')
	}
	return readOptions<Settings>(options, RULES)
}

const bounds = (latencyMs: number | readonly [number, number]): readonly [number, number] =>
	typeof latencyMs === 'number' ? [latencyMs, latencyMs] : latencyMs

/**
 * Trouble on purpose, as a policy: put it innermost, where the network would be.
 *
 * @example
 * const flaky = pipeline(retry(), faults({ errorRate: 0.3, latencyMs: [10, 200], seed: 7 }))
 */
export function faults(options: FaultOptions = {}): Faults {
	return new Faults(options)
}

/** What `faults()` makes: a policy that troubles the calls inside it. */
export class Faults extends LeafPolicy {
	constructor(options: FaultOptions = {}) {
		super('faults', options, new FaultLayer(readFaultOptions(options)))
	}

	/** @internal Faults tell nothing of themselves: the policies around them do. */
	protected override setListening(): void {}
}

class FaultLayer implements Layer {
	readonly #settings: Settings
	readonly #random: (() => number) | undefined

	constructor(settings: Settings) {
		this.#settings = settings
		this.#random = settings.seed === undefined ? undefined : seededRandom(settings.seed)
	}

	enter(call: Call, bound: BoundLayer): Step {
		const random = this.#random ?? (() => bound.runtime.random())
		const { latencyMs = 0, errorRate } = this.#settings
		const [least, greatest] = bounds(latencyMs)
		const delayMs = least + random() * (greatest - least)
		const fails = random() < errorRate
		call.enterLayer(bound, fails)
		return delayMs > 0 ? delayMs : this.resume(call, bound)
	}

	resume(call: Call, bound: BoundLayer): Step {
		call.startedAt = call.pipeline.runtime.now()
		return call.layerState(bound) ? call.settle(false, this.#makeError()) : GO
	}

	leave(): Step {
		return GO
	}

	#makeError(): unknown {
		const { error } = this.#settings
		if (error === undefined)
			return Object.assign(new Error('injected fault: read ECONNRESET'), { code: 'ECONNRESET' })
		return typeof error === 'function' ? (error as () => unknown)() : error
	}
}
